/**
 * The end of grants at someone's request: of one grant, or of all grants of a
 * person, a machine or a client.
 *
 * @module
 */
import { bindingOf, type Grant } from "../../oauth/grant.ts";
import { jwtBindingOf } from "../../oauth/subject.ts";
import type { Database, Entry } from "../../kv/database.ts";
import { inParts } from "../../kv/owner_list.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { SessionStore } from "../../store/sessions.ts";

const CLOSED_AT_ONCE = 10;

/** Ends the tasks of a binding that belong to some of its grants. */
export interface EndsTasks {
  /** @param ids of grants; undefined for tasks without one */
  cancelAllOf(
    binding: string,
    ids: ReadonlySet<string | undefined>,
  ): Promise<() => void>;
}

interface EndedGrant {
  grant: Grant;
  /** The grant's entry, if it was just read. */
  read?: Entry<Grant>;
}

export type EndGrants = ReturnType<typeof grantsEnd>;

/**
 * Makes the function that ends grants with everything that belongs to them. It
 * lists a person's sessions and tasks once, however many of their grants end.
 */
export function grantsEnd(
  { grants, sessions, tasks, database }: {
    grants: Pick<GrantStore, "close" | "unlist">;
    database: Pick<Database, "background">;
    sessions: Pick<SessionStore, "closeAllOf">;
    tasks?: EndsTasks;
  },
) {
  async function endOf(
    binding: string,
    [first, ...rest]: readonly EndedGrant[],
  ): Promise<void> {
    const ids = new Set([first, ...rest].map(({ grant }) => grant.id));
    const [endSessions, endTasks] = await Promise.all([
      sessions.closeAllOf(binding, ids),
      tasks?.cancelAllOf(binding, ids),
    ]);
    // The sessions end in the same commit as the first grant. If they ended
    // later and that failed, a second try would find the grant closed, and
    // leave them open. Tasks end by themselves.
    await grants.close(first.grant.id, {
      read: first.read,
      extraWrites: endSessions.write,
    });
    endSessions.report();
    for (const some of inParts(rest, CLOSED_AT_ONCE)) {
      await Promise.all(
        some.map(({ grant, read }) => grants.close(grant.id, { read })),
      );
    }
    endTasks?.();
  }

  return async function endGrants(ended: readonly EndedGrant[]): Promise<void> {
    const byBinding = Map.groupBy(ended, ({ grant }) => bindingOf(grant));
    for (const [binding, some] of byBinding) await endOf(binding, some);
    database.background(() => grants.unlist(ended.map(({ grant }) => grant)));
  };
}

const MAX_ROUNDS = 5;

/** Records of one kind that a feature keeps about people. */
export interface PersonRecords {
  /** Their name in a copy, and in the counts of what has ended. */
  readonly name: string;
  /** Lists those of a person, without secrets. */
  listOf(subject: string): Promise<readonly object[]>;
  /** Deletes those of a person. Returns their number, if it is known. */
  endAllOf(subject: string): Promise<number | void>;
  /** Deletes those that stay until the person is erased. */
  forgetAllOf?(subject: string): Promise<void>;
}

/** The stores in which something of a subject may be open. */
interface SubjectStores {
  /**
   * The records of features. Those of sign-ins come first: a sign-in that has
   * ended makes no more of the other records.
   */
  records: readonly PersonRecords[];
  grants: Pick<GrantStore, "listOpen">;
  database: Pick<Database, "commit">;
  sessions: Pick<SessionStore, "closeAllOf">;
  tasks?: EndsTasks;
  endGrants: EndGrants;
}

const NO_GRANT = new Set([undefined]);

/**
 * Ends the sessions and tasks that a person opened with JWTs of another issuer:
 * no grant is behind them.
 */
async function endOfTokens(
  subject: string,
  { database, sessions, tasks }: SubjectStores,
): Promise<void> {
  const binding = jwtBindingOf(subject);
  if (binding === undefined) return;
  const [endSessions, endTasks] = await Promise.all([
    sessions.closeAllOf(binding, NO_GRANT),
    tasks?.cancelAllOf(binding, NO_GRANT),
  ]);
  await database.commit(endSessions.write);
  endSessions.report();
  endTasks?.();
}

/** The numbers of what was open of a subject, by the names of records. */
export type EndedCounts = Record<string, number> & { grants: number };

/**
 * Ends everything of a subject: grants, also with codes that are not redeemed,
 * sessions and tasks, and the records of features: sign-ins to the account page,
 * accounts at other services.
 */
export async function endSubject(
  subject: string,
  stores: SubjectStores,
): Promise<EndedCounts> {
  const { records, grants, endGrants } = stores;
  await endOfTokens(subject, stores);
  const counts: EndedCounts = { grants: 0 };
  // Repeated until no grant is open: a client may get another one meanwhile.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    for (const { name, endAllOf } of records) {
      const count = await endAllOf(subject);
      if (count !== undefined) counts[name] = (counts[name] ?? 0) + count;
    }
    const open = await grants.listOpen(subject);
    if (open.length === 0) break;
    counts.grants += open.length;
    await endGrants(open.map((read) => ({ grant: read.value, read })));
  }
  return counts;
}

/** Ends the open grants of a client, by its short ID; gives their number. */
export async function endClient(
  shortId: string,
  { grants, endGrants }: {
    grants: Pick<GrantStore, "openOfClient">;
    endGrants: EndGrants;
  },
): Promise<number> {
  let count = 0;
  for await (const open of grants.openOfClient(shortId)) {
    count += open.length;
    await endGrants(open.map((read) => ({ grant: read.value, read })));
  }
  return count;
}
