/**
 * The sessions of a person, or of a network whose callers are not told apart:
 * they are counted, and many end at once.
 *
 * @module
 */
import { formerBinding } from "../auth/rules/former_subject.ts";
import { telemetry } from "../telemetry/current.ts";
import { type Database, type Found, isFound } from "./database.ts";
import { listedSessionKey, sessionsOfKey } from "./keys.ts";
import {
  type Session,
  type SessionOfPerson,
  UNUSED_SESSION_SECONDS,
} from "./session_record.ts";
import type { Write } from "./transaction.ts";

/**
 * The sessions that one commit ends: each has two keys, and a commit takes a
 * thousand mutations, which other changes share.
 */
const DELETIONS_PER_COMMIT = 200;

/** The time for which a new session is not ended by the count of sessions. */
const NEW_SECONDS = 60;
/** The sessions of a person that are read at a time, and counted in all. */
const LISTED_PER_READ = 500;
const MOST_COUNTED = 2000;

/** The open sessions of a person. */
export interface SessionCounts {
  /** The number of those that a grant used last, by its id. */
  of: ReadonlyMap<string, number>;
  /** True if there are more sessions than were counted. */
  isCut: boolean;
}

/** Sessions that are about to end. */
interface EndingSessions {
  /** Ends them, as part of a commit. */
  write: Write;
  /** Reports them to telemetry; to be called when they have ended. */
  tell(): void;
}

/** Reports to telemetry that a client, or its lost permission, ended one. */
export function tellEnd(
  { revision, startedMilliseconds }: Session,
  outcome: "ok" | "stopped",
  time: number,
): void {
  const milliseconds = time - startedMilliseconds;
  telemetry?.tellSession({ revision, outcome, milliseconds });
}

export function sessionLists(database: Database) {
  /**
   * The list entries of a binding's sessions, some at a time, each with the
   * grant that used the session last.
   */
  async function* listedOf(
    binding: string,
    perRead = LISTED_PER_READ,
  ): AsyncGenerator<Found<SessionOfPerson>[]> {
    const former = formerBinding(binding);
    if (former !== undefined) yield* listedOf(former, perRead);
    yield* database.listInParts(sessionsOfKey(binding), perRead);
  }

  async function keysOf(
    binding: string,
    isWanted: (session: SessionOfPerson) => boolean,
  ): Promise<Deno.KvKey[]> {
    const listed = (await Array.fromAsync(listedOf(binding))).flat();
    return listed.filter(({ value }) => isWanted(value)).map(({ key }) => key);
  }

  /** Ends the sessions of a list beyond the most, the least used first. */
  async function endOldest(list: string, most: number): Promise<void> {
    const listed = await database.list<SessionOfPerson>(sessionsOfKey(list));
    listed.sort((a, b) => b.value.expiresAt - a.value.expiresAt);
    // An unused session ends before a used one, but one that was opened a
    // moment ago is about to be used.
    const end = database.now() + UNUSED_SESSION_SECONDS;
    const isNew = ({ value: { expiresAt } }: Found<SessionOfPerson>) =>
      expiresAt <= end && expiresAt > end - NEW_SECONDS;
    const ended = listed.slice(most).filter((session) => !isNew(session));
    await endListed(ended.map(({ key }) => key));
  }

  /** Ends listed sessions, in as many commits as needed. */
  async function endListed(listed: Deno.KvKey[]): Promise<void> {
    const parts = [];
    while (listed.length > 0) {
      parts.push(listed.splice(-DELETIONS_PER_COMMIT));
    }
    await Promise.all(parts.map(async (some) => {
      const { write, tell } = await endingOf(some);
      await database.commit(write);
      tell();
    }));
  }

  /** @param listed the list entries of the sessions that are about to end */
  async function endingOf(
    listed: readonly Deno.KvKey[],
  ): Promise<EndingSessions> {
    const keys = listed.map(listedSessionKey);
    const ended = telemetry ? await database.getMany<Session[]>(keys) : [];
    return {
      write(transaction) {
        transaction.delete(...listed);
        for (const key of keys) transaction.end(key);
      },
      tell() {
        for (const { value } of ended.filter(isFound)) {
          tellEnd(value, "stopped", database.clock());
        }
      },
    };
  }

  return {
    endOldest,

    /**
     * Ends every session that one of these grants used last, by writes for
     * another commit that this returns; sessions that do not fit into that
     * commit are ended before.
     */
    async endAllOf(
      binding: string,
      grantIds: ReadonlySet<string | undefined>,
    ): Promise<EndingSessions> {
      const listed = await keysOf(binding, (it) => grantIds.has(it.grantId));
      const last = listed.splice(-DELETIONS_PER_COMMIT);
      await endListed(listed);
      return await endingOf(last);
    },

    /** Ends every session of a person, of any grant. */
    async forgetAllOf(binding: string): Promise<void> {
      await endListed(await keysOf(binding, () => true));
    },

    /**
     * Counts the live sessions of a person for each grant.
     *
     * @param most how many are counted
     */
    async countsOf(
      binding: string,
      most = MOST_COUNTED,
    ): Promise<SessionCounts> {
      const of = new Map<string, number>();
      let count = 0;
      const perRead = Math.min(most + 1, LISTED_PER_READ);
      for await (const some of listedOf(binding, perRead)) {
        for (const { value: { grantId } } of some) {
          if (++count > most) return { of, isCut: true };
          if (grantId !== undefined) {
            of.set(grantId, (of.get(grantId) ?? 0) + 1);
          }
        }
      }
      return { of, isCut: false };
    },
  };
}
