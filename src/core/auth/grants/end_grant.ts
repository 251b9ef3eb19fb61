/**
 * Ends grants for a person or an operator: one grant, or all grants of a
 * person, a machine or a client.
 *
 * @module
 */
import { bindingOf, type Grant } from "../../oauth/grant.ts";
import { jwtBindingOf } from "../../oauth/subject.ts";
import type { Database, Found } from "../../kv/database.ts";
import { inParts } from "../../kv/owner_list.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { SessionStore } from "../../store/sessions.ts";

const CLOSED_AT_ONCE = 10;

/**
 * Cancels tasks of a person, found by their `binding` (issuer, resource and
 * subject).
 */
export interface TaskCanceller {
  /**
   * @param ids the IDs of grants; undefined selects tasks without a grant
   */
  cancelAllOf(
    binding: string,
    ids: ReadonlySet<string | undefined>,
  ): Promise<() => void>;
}

export type EndGrants = ReturnType<typeof makeEndGrants>;

/**
 * Makes the function that ends grants and everything that belongs to them. It
 * lists a person's sessions and tasks only once for all their grants.
 */
export function makeEndGrants(
  { grants, sessions, tasks, database }: {
    grants: Pick<GrantStore, "close" | "unlist">;
    database: Pick<Database, "background">;
    sessions: Pick<SessionStore, "closeAllOf">;
    tasks?: TaskCanceller;
  },
) {
  async function endOf(
    binding: string,
    [first, ...rest]: readonly Found<Grant>[],
  ): Promise<void> {
    const ids = new Set([first, ...rest].map(({ value }) => value.id));
    const [endSessions, endTasks] = await Promise.all([
      sessions.closeAllOf(binding, ids),
      tasks?.cancelAllOf(binding, ids),
    ]);
    // The sessions end in the same commit as the first grant. If they ended
    // later and that failed, a retry would find the grant closed and leave the
    // sessions open. Tasks of an ended grant end by themselves.
    const { write: extraWrites } = endSessions;
    await grants.close(first.value.id, { read: first, extraWrites });
    endSessions.report();
    for (const some of inParts(rest, CLOSED_AT_ONCE)) {
      await Promise.all(
        some.map((read) => grants.close(read.value.id, { read })),
      );
    }
    endTasks?.();
  }

  return async function endGrants(
    ended: readonly Found<Grant>[],
  ): Promise<void> {
    const byBinding = Map.groupBy(ended, ({ value }) => bindingOf(value));
    for (const [binding, some] of byBinding) await endOf(binding, some);
    database.background(() => grants.unlist(ended.map(({ value }) => value)));
  };
}

const MAX_ROUNDS = 5;

/** One kind of records that a feature stores about people. */
export interface PersonRecords {
  /**
   * The name of these records in the copy of a person's data and in
   * `EndedCounts`.
   */
  readonly name: string;
  /** Lists the records of a person, without secrets. */
  listOf(subject: string): Promise<readonly object[]>;
  /** Ends the records of a person. Returns how many there were, if known. */
  endAllOf(subject: string): Promise<number | void>;
  /**
   * Deletes records that remain after `endAllOf`, when the person is erased.
   */
  forgetAllOf?(subject: string): Promise<void>;
}

/** The stores that may have active records of a subject. */
interface SubjectStores {
  /**
   * Records of features. Sign-ins to the account page come first, because once
   * they have ended, the person can add no more records.
   */
  records: readonly PersonRecords[];
  grants: Pick<GrantStore, "listOpen">;
  database: Pick<Database, "commit">;
  sessions: Pick<SessionStore, "closeAllOf">;
  tasks?: TaskCanceller;
  endGrants: EndGrants;
}

const NO_GRANT = new Set([undefined]);

/**
 * Ends a person's sessions and tasks that began with JWTs of another issuer,
 * and so have no grant.
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

/** The number of ended records of each kind, and of ended grants. */
export type EndedCounts = Record<string, number> & { grants: number };

/**
 * Ends everything of a subject: grants (also those whose code is not redeemed
 * yet), sessions, tasks, and features' records, such as sign-ins to the account
 * page and accounts at other services.
 */
export async function endSubject(
  subject: string,
  stores: SubjectStores,
): Promise<EndedCounts> {
  const { records, grants, endGrants } = stores;
  await endOfTokens(subject, stores);
  const counts: EndedCounts = { grants: 0 };
  // Repeated until no grant is open: a client may get another one in the
  // meantime.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    for (const { name, endAllOf } of records) {
      const count = await endAllOf(subject);
      if (count !== undefined) counts[name] = (counts[name] ?? 0) + count;
    }
    const open = await grants.listOpen(subject);
    if (open.length === 0) break;
    counts.grants += open.length;
    await endGrants(open);
  }
  return counts;
}

/**
 * Ends the open grants of a client, found by its short ID. Returns how many.
 */
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
    await endGrants(open);
  }
  return count;
}
