/** @jsxImportSource @hono/hono/jsx */
/**
 * The operator's part of the account page: everyone's connections, machines, the
 * registrations, and why the last attempts to connect failed.
 *
 * @module
 */
import { visible } from "../log/log_line.ts";
import { displayName } from "./display_name.ts";
import { Moment } from "./moment.tsx";
import {
  type CallFilter,
  type OperatorCall,
  OperatorCalls,
} from "./operator_calls.tsx";
import {
  type OperatorMachine,
  OperatorMachines,
  OperatorPeople,
  type OperatorPeopleProps,
} from "./operator_people.tsx";
import { Table } from "./table.tsx";

/** A client that registered itself. */
interface OperatorRegistration {
  clientId: string;
  clientName: string;
  /** Epoch seconds. */
  issuedAt: number;
  usedAt: number;
  redirectUris: readonly string[];
}

/** A client that the operator set up. */
interface OperatorClient {
  clientId: string;
  clientName: string;
  /** The grant types it may use. */
  grantTypes: readonly string[];
  /** Epoch seconds; undefined: not used in the last 90 days. */
  usedAt?: number;
  redirectUris: readonly string[];
}

/** One step of an attempt to connect, as it ended. */
interface OperatorAttempt {
  /** Epoch seconds. */
  at: number;
  /** `GET /authorize`. */
  step: string;
  /** The client's name or id; undefined if neither is known. */
  client?: string;
  /** Undefined: it went well. */
  failure?: string;
  /** The number of times the same was seen. */
  count: number;
}

/** The contents of the section. */
export interface OperatorProps {
  /** Path of the public address; empty at a root. */
  base?: string;
  people: OperatorPeopleProps;
  machines: readonly OperatorMachine[];
  registrations: readonly OperatorRegistration[];
  clients: readonly OperatorClient[];
  attempts: readonly OperatorAttempt[];
  /** Everyone's calls; undefined where none are kept. */
  calls?: {
    calls: readonly OperatorCall[];
    filter: CallFilter;
    /** Set when there are more people than those whose calls these are. */
    isCut: boolean;
  };
  csrf: string;
  now: number;
}

/** The last attempts, calls, people, machines and clients. */
export function OperatorSection(
  {
    base,
    people,
    machines,
    registrations,
    clients,
    attempts,
    calls,
    csrf,
    now,
  }: OperatorProps,
) {
  return (
    <>
      <Table
        title="The last attempts to connect"
        empty="No one has tried in the last 30 days. Connect a client: the start page says how."
        columns={["When", "Step", "Client", "Outcome"]}
        rows={attempts.map(({ at, step, client, failure, count }) => [
          <Moment at={at} now={now} />,
          <code>{step}</code>,
          <bdi>{client ? displayName(client) : "unknown"}</bdi>,
          failure
            ? (
              <>
                <span class="badge bad">Failed</span> {visible(failure)}
                {count > 1 && ` (${count} times)`}
              </>
            )
            : <span class="badge good">Went well</span>,
        ])}
      />
      {calls && <OperatorCalls base={base} {...calls} now={now} />}
      <OperatorPeople {...people} base={base} csrf={csrf} now={now} />
      <OperatorMachines
        machines={machines}
        base={base}
        csrf={csrf}
        now={now}
      />
      <Table
        title="Registrations"
        empty="No client of these people has registered itself. Those that publish a metadata document need not."
        columns={["Client", "Registered", "Last used", "Redirect URIs"]}
        rows={registrations.map((registration) => [
          <>
            “<bdi>{displayName(registration.clientName)}</bdi>”
            <br />
            <code>{visible(registration.clientId)}</code>
          </>,
          <Moment at={registration.issuedAt} now={now} />,
          <Moment at={registration.usedAt} now={now} />,
          registration.redirectUris.map((uri) => (
            <div>
              <code>{visible(uri)}</code>
            </div>
          )),
        ])}
      />
      {clients.length > 0 && (
        <Table
          title="Clients you set up"
          empty=""
          columns={["Client", "Gets tokens by", "Last used", "Redirect URIs"]}
          rows={clients.map((client) => [
            <>
              “<bdi>{displayName(client.clientName)}</bdi>”
              <br />
              <code>{visible(client.clientId)}</code>
            </>,
            client.grantTypes.map((type) => (
              <div>
                <code>{type}</code>
              </div>
            )),
            client.usedAt === undefined
              ? "Not in 90 days"
              : <Moment at={client.usedAt} now={now} />,
            client.redirectUris.map((uri) => (
              <div>
                <code>{visible(uri)}</code>
              </div>
            )),
          ])}
        />
      )}
    </>
  );
}
