/** @jsxImportSource @hono/hono/jsx */
/**
 * What an operator sees below their own connections: everybody's, the
 * registrations, and why the last attempts to connect failed.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { type ConnectionInWords, EndForm } from "./account_page.tsx";
import { displayName } from "./layout.tsx";
import { Moment } from "./moment.tsx";

/** Anybody's grant. */
export interface OperatorGrant extends ConnectionInWords {
  /** `github:583231`, and what the provider calls them. */
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
  redirectUris: readonly string[];
}

/** One step of an attempt to connect, as it ended. */
export interface OperatorAttempt {
  /** Epoch seconds. */
  at: number;
  /** `GET /authorize`. */
  step: string;
  /** What is known of the client: its name, its id, or nothing. */
  client?: string;
  /** Undefined: it went well. */
  failure?: string;
  /** How often the same was seen. */
  count: number;
}

/** What the section shows. */
export interface OperatorProps {
  /** Path of the public address; empty at a root. */
  base?: string;
  grants: readonly OperatorGrant[];
  registrations: readonly OperatorRegistration[];
  attempts: readonly OperatorAttempt[];
  csrf: string;
  now: number;
}

/** All grants, registrations and the last attempts. */
export function OperatorSection(
  { base, grants, registrations, attempts, csrf, now }: OperatorProps,
) {
  return (
    <>
      <Table
        title="The last attempts to connect"
        empty="Nobody has tried since this server keeps count."
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
      <Table
        title="Everybody's connections"
        empty="None."
        columns={["Person", "Client", "Last used", "Sessions", ""]}
        rows={grants.map((grant) => [
          <>
            <bdi>{displayName(grant.person)}</bdi>
            <br />
            <code>{grant.subject}</code>
          </>,
          <bdi>{displayName(grant.clientName)}</bdi>,
          <Moment at={grant.usedAt} now={now} />,
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
        empty="None."
        columns={["Client", "Registered", "Redirect URIs"]}
        rows={registrations.map((registration) => [
          <>
            <bdi>{displayName(registration.clientName)}</bdi>
            <br />
            <code>{registration.clientId}</code>
          </>,
          <Moment at={registration.issuedAt} now={now} />,
          registration.redirectUris.map((uri) => (
            <div>
              <code>{uri}</code>
            </div>
          )),
        ])}
      />
    </>
  );
}

function Table(
  { title, empty, columns, rows }: {
    title: string;
    empty: string;
    columns: readonly string[];
    rows: readonly Child[][];
  },
) {
  return (
    <section>
      <h2>{title}</h2>
      <div class="card scroll" tabindex={0} role="region" aria-label={title}>
        {rows.length === 0 ? <p class="soft">{empty}</p> : (
          <table>
            <thead>
              <tr>
                {columns.map((column) =>
                  column ? <th scope="col">{column}</th> : <td></td>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => <tr>{row.map((cell) => <td>{cell}</td>)}</tr>)}
            </tbody>
          </table>
        )}
      </div>
    </section>
  );
}
