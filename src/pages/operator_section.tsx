/** @jsxImportSource @hono/hono/jsx */
/**
 * The operator's part of the account page: everyone's connections, the
 * registrations, and why the last attempts to connect failed.
 *
 * @module
 */
import type { ConnectionInWords } from "./account_page.tsx";
import { EndForm } from "./connection_forms.tsx";
import { destinationOf } from "./destination.ts";
import { displayName } from "./display_name.ts";
import { Moment } from "./moment.tsx";
import {
  type CallFilter,
  type OperatorCall,
  OperatorCalls,
} from "./operator_calls.tsx";
import { Table } from "./table.tsx";

/** Any person's grant. */
export interface OperatorGrant extends ConnectionInWords {
  /**
   * A subject such as `github:583231`; `person` is the name at the provider.
   */
  subject: string;
  person: string;
  clientName: string;
}

/** A client that registered itself. */
export interface OperatorRegistration {
  clientId: string;
  clientName: string;
  /** Epoch seconds. */
  issuedAt: number;
  usedAt: number;
  redirectUris: readonly string[];
}

/** A client that the operator set up. */
export interface OperatorClient {
  clientId: string;
  clientName: string;
  /** The grant types it may use. */
  grantTypes: readonly string[];
  /** Epoch seconds; undefined: not used in the last 90 days. */
  usedAt?: number;
  redirectUris: readonly string[];
}

/** One step of an attempt to connect, as it ended. */
export interface OperatorAttempt {
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
  grants: readonly OperatorGrant[];
  registrations: readonly OperatorRegistration[];
  clients: readonly OperatorClient[];
  attempts: readonly OperatorAttempt[];
  /** Everyone's calls; undefined where none are kept. */
  calls?: { calls: readonly OperatorCall[]; filter: CallFilter };
  csrf: string;
  now: number;
}

/** All grants, registrations and the last attempts. */
export function OperatorSection(
  { base, grants, registrations, clients, attempts, calls, csrf, now }:
    OperatorProps,
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
                <span class="badge bad">Failed</span> {failure}
                {count > 1 && ` (${count} times)`}
              </>
            )
            : <span class="badge good">Went well</span>,
        ])}
      />
      {calls && <OperatorCalls base={base} {...calls} now={now} />}
      <Table
        title="Everyone's connections"
        empty="No one is connected. A connection is listed here when someone has signed in to a client."
        columns={["Person", "Client", "Last used", "Sessions", ""]}
        rows={grants.map((grant) => [
          <>
            <bdi>{displayName(grant.person)}</bdi>
            <br />
            <code>{grant.subject}</code>
          </>,
          <>
            “<bdi>{displayName(grant.clientName)}</bdi>”
            {grant.redirectUri && (
              <div class="small soft">{destinationOf(grant.redirectUri)}</div>
            )}
          </>,
          <>
            <Moment at={grant.usedAt} now={now} />
            {grant.pausedAt !== undefined && (
              <>
                {" "}
                <span class="badge warn">Paused</span>
              </>
            )}
          </>,
          grant.sessions,
          <EndForm
            base={base}
            grantIds={[grant.grantId]}
            csrf={csrf}
            label="End"
            of={`${displayName(grant.clientName)} of ${
              displayName(grant.person)
            }`}
          />,
        ])}
      />
      <Table
        title="Registrations"
        empty="No client has registered itself. Those that publish a metadata document need not."
        columns={["Client", "Registered", "Last used", "Redirect URIs"]}
        rows={registrations.map((registration) => [
          <>
            “<bdi>{displayName(registration.clientName)}</bdi>”
            <br />
            <code>{registration.clientId}</code>
          </>,
          <Moment at={registration.issuedAt} now={now} />,
          <Moment at={registration.usedAt} now={now} />,
          registration.redirectUris.map((uri) => (
            <div>
              <code>{uri}</code>
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
              <code>{client.clientId}</code>
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
                <code>{uri}</code>
              </div>
            )),
          ])}
        />
      )}
    </>
  );
}
