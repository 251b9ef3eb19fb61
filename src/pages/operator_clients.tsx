/** @jsxImportSource @hono/hono/jsx */
/**
 * The clients of `OAUTH_CLIENTS`, for operators, and the tokens of machines.
 *
 * @module
 */
import { visible } from "../log/log_line.ts";
import { EndForm, type FormPage } from "./connection_forms.tsx";
import { displayName } from "./display_name.ts";
import { Moment } from "./moment.tsx";
import { Addresses } from "./operator_people.tsx";
import { Table } from "./table.tsx";

/** A client that acts for itself. */
export interface OperatorMachine {
  subject: string;
  name: string;
  /** The number of live access tokens. */
  tokens: number;
  /** Set when there are more than were counted. */
  isMore: boolean;
  /** The time of the newest live one, in epoch seconds. */
  usedAt?: number;
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

/** The contents of the section. */
export interface OperatorClientsProps {
  machines: readonly OperatorMachine[];
  clients: readonly OperatorClient[];
}

/** The clients that the operator set up; first those that act for themselves. */
export function OperatorClients(
  { machines, clients, now, ...form }:
    & OperatorClientsProps
    & FormPage
    & { now: number },
) {
  return (
    <>
      {machines.length > 0 && (
        <Table
          title="Machines"
          empty=""
          columns={["Client", "Access tokens", "The last one", ""]}
          rows={machines.map(({ subject, name, tokens, isMore, usedAt }) => [
            <>
              “<bdi>{displayName(name)}</bdi>”
              <br />
              <code>
                <bdi>{visible(subject)}</bdi>
              </code>
            </>,
            isMore ? `${tokens} or more` : tokens,
            usedAt === undefined
              ? "None is alive"
              : <Moment at={usedAt} now={now} />,
            tokens > 0 && (
              <EndForm
                {...form}
                subject={subject}
                label="End all"
                of={`of ${displayName(name)}`}
              />
            ),
          ])}
        />
      )}
      <Table
        title="Clients you set up"
        empty="None is set up in OAUTH_CLIENTS. Clients that registered themselves are with the people who use them."
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
          <Addresses of={client.redirectUris} />,
        ])}
      />
    </>
  );
}
