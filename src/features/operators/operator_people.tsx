/** @jsxImportSource @hono/hono/jsx */
/**
 * The list of people and their connections for operators, in pages.
 *
 * @module
 */
import { escaped } from "../../core/log/log_line.ts";
import {
  ClientCell,
  ClientName,
  destinationOf,
  displayName,
  type UsedClient,
} from "../../core/pages/names.tsx";
import { EndForm } from "../account_page/connection_forms.tsx";
import {
  type GrantInWords,
  PausedBadge,
} from "../account_page/connections_section.tsx";
import type { FormPage } from "../../core/pages/layout.tsx";
import { CodeLines, Table } from "../../core/pages/table.tsx";
import { PastTime } from "../../core/pages/times.tsx";

interface OperatorGrant extends GrantInWords {
  clientName: string;
  /** The number of sign-ins; one by default. */
  signIns?: number;
}

interface OperatorPerson {
  /** `github:583231`. */
  subject: string;
  /** The name at the provider. */
  name: string;
  email?: string;
  /** The person's newest connections. */
  grants: readonly OperatorGrant[];
  /** The number of connections. */
  count: number;
  /** True if there are more connections than were counted. */
  isMore: boolean;
}

export interface OperatorPeopleProps extends FormPage {
  people: readonly OperatorPerson[];
  /** The registrations of these people's clients, newest first. */
  registrations: readonly Required<UsedClient>[];
  search?: string;
  isFirst: boolean;
  /** The cursor of the next page. Undefined on the last page. */
  next?: string;
  now: number;
}

export function OperatorPeople(
  {
    people,
    registrations,
    search = "",
    isFirst,
    next,
    now,
    ...form
  }: OperatorPeopleProps,
) {
  const { base = "" } = form;
  const address = (query: Record<string, string>) =>
    `${base}/account/people?${new URLSearchParams(query)}`;
  return (
    <>
      <Table
        label="Everyone's connections"
        empty={search
          ? "No one with a connection is found by this."
          : "No one is connected. A connection is listed here when someone has signed in to a client."}
        columns={["Person", "Client", "Last used", "Sessions", ""]}
        rows={people.flatMap((person) =>
          person.grants.map((grant, index) => [
            index === 0
              ? <PersonCell {...person} {...form} />
              : <bdi>{displayName(person.name)}</bdi>,
            <>
              <ClientName name={grant.clientName} />
              {grant.redirectUri && (
                <div class="small soft">{destinationOf(grant.redirectUri)}</div>
              )}
              {(grant.signIns ?? 1) > 1 && (
                <div class="small soft">{grant.signIns} sign-ins</div>
              )}
            </>,
            <>
              <PastTime at={grant.usedAt} now={now} />
              {grant.pausedAt !== undefined && (
                <>
                  {" "}
                  <PausedBadge />
                </>
              )}
            </>,
            `${grant.hasMoreSessions ? "at least " : ""}${grant.sessions}`,
            <EndForm
              {...form}
              grantIds={[grant.id]}
              label="End"
              of={`${displayName(grant.clientName)} of ${
                displayName(person.name)
              }`}
            >
              It ends with all its sign-ins, sessions and tasks. That cannot be
              undone: it has to ask them again.
            </EndForm>,
          ])
        )}
      >
        <form class="filter" method="get" action={`${base}/account/people`}>
          <label>
            Find among all people
            <input
              type="search"
              name="person"
              value={search}
              autocomplete="off"
            />
          </label>
          <button type="submit">Find</button>
        </form>
        <p class="small soft">
          Finds people by how their subject, name, a word of their name, their
          e-mail address or its domain begins. Several words must all be found.
        </p>
        {(!isFirst || next !== undefined) && (
          <p class="small">
            {isFirst ? "The first " : "The next "}
            {people.length}
            {next !== undefined && " of more: search, or go on"}.{" "}
            {!isFirst && (
              <a href={address(search ? { person: search } : {})}>
                Back to the first
              </a>
            )} {next !== undefined && (
              <a
                href={address({
                  ...search && { person: search },
                  after: next,
                })}
              >
                Next page
              </a>
            )}
          </p>
        )}
      </Table>
      <Table
        title="Their clients’ registrations"
        empty="No client of these people has registered itself. Those that publish a metadata document need not."
        columns={["Client", "Registered", "Last used", "Redirect URIs"]}
        rows={registrations.map(({ client, usedAt }) => [
          <ClientCell client={client} />,
          <PastTime at={client.issuedAt} now={now} />,
          <PastTime at={usedAt} now={now} />,
          <CodeLines of={client.metadata.redirect_uris} />,
        ])}
      />
    </>
  );
}

function PersonCell(
  { name, email, subject, grants, count, isMore, ...form }:
    & OperatorPerson
    & FormPage,
) {
  return (
    <>
      <bdi>{displayName(name)}</bdi>
      <br />
      <code>
        <bdi>{escaped(subject)}</bdi>
      </code>
      {email && email !== name && (
        <div class="small soft">
          <bdi>{escaped(email)}</bdi>
        </div>
      )}
      {count > grants.length && (
        <div class="small">
          The newest {grants.length} of {isMore ? `${count} or more` : count}
        </div>
      )}
      <EndForm
        {...form}
        subject={subject}
        label="End everything"
        of={`of ${displayName(name)}`}
      >
        All their connections, access tokens, sessions and tasks end, and they
        are signed out here. That cannot be undone.
      </EndForm>
    </>
  );
}
