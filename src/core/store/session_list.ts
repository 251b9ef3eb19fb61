/**
 * The record of a session, and the list of the sessions of a person, or of a
 * network whose callers are not told apart. By the list, sessions are counted,
 * and many ended at once.
 *
 * @module
 */
import type {
  Implementation,
  LoggingLevel,
} from "@modelcontextprotocol/server";
import { fingerprint } from "../crypto/crypto.ts";
import type { JsonObject } from "../json.ts";
import type { SessionRevision } from "../protocol/revisions.ts";
import { telemetry } from "../telemetry/current.ts";
import {
  type Database,
  type Expiring,
  type Found,
  isFound,
} from "../kv/database.ts";
import { listedSessionKey, sessionKey, sessionsOfKey } from "../kv/keys.ts";
import { forgetReplies } from "./replies.ts";
import type { Transaction } from "../kv/transaction.ts";

/** The lifetime of a session after its last use, in seconds. */
export const SESSION_SECONDS = 30 * 24 * 60 * 60;

/** The lifetime of a session until its first use: anyone may open one. */
export const UNUSED_SESSION_SECONDS = 60 * 60;

/** The record of a session. Times are epoch seconds. */
export interface Session extends Expiring {
  /** The `binding` of the session's caller. */
  binding: string;
  /** The grant that used the session last. The session ends with this grant. */
  grantId?: string;
  /** For callers counted by network: the list that limits their sessions. */
  list?: string;
  revision: SessionRevision;
  /** Epoch milliseconds. */
  startedMilliseconds: number;
  clientInfo: Implementation;
  capabilities: JsonObject;
  logLevel?: LoggingLevel;
}

interface SessionOfPerson extends Expiring {
  grantId?: string;
}

export function listKeyOf(
  id: string,
  { list, binding }: Pick<Session, "list" | "binding">,
): Deno.KvKey {
  return sessionsOfKey(list ?? binding, fingerprint(id));
}

/** Adds a session and its list entry to a commit. */
export function setSession(
  transaction: Transaction,
  id: string,
  session: Session,
): Transaction {
  const { expiresAt, grantId } = session;
  return transaction
    .set(sessionKey(id), session)
    .set<SessionOfPerson>(listKeyOf(id, session), { grantId, expiresAt });
}

/** The sessions that one commit ends: each takes 2 of its 1000 mutations. */
const DELETIONS_PER_COMMIT = 200;

/** The age below which an unused session stays although there are too many. */
const NEW_SECONDS = 60;
/** The sessions of a person that are read at a time, and counted in all. */
const LISTED_PER_READ = 500;
const MAX_SESSIONS_COUNTED = 2000;

/** The open sessions of a person. */
export interface SessionCounts {
  /**
   * The number of sessions, by the ID of the grant that used them last. Under
   * undefined: those of a caller without grants.
   */
  of: ReadonlyMap<string | undefined, number>;
  /** True if there are more sessions than were counted. */
  hasMore: boolean;
}

/** Reports to telemetry the end of a session, by its client or permission. */
export function reportEnd(
  { revision, startedMilliseconds }: Session,
  outcome: "ok" | "stopped",
  time: number,
): void {
  const milliseconds = Math.max(0, time - startedMilliseconds);
  telemetry?.reportSession({ revision, outcome, milliseconds });
}

export function sessionLists(database: Database) {
  /** Lists the sessions of a binding, each with the grant that used it last. */
  function listedOf(
    binding: string,
    perRead = LISTED_PER_READ,
  ): AsyncGenerator<Found<SessionOfPerson>[]> {
    return database.listInParts(sessionsOfKey(binding), perRead);
  }

  async function keysOf(
    binding: string,
    isWanted: (session: SessionOfPerson) => boolean,
  ): Promise<Deno.KvKey[]> {
    const listed = (await Array.fromAsync(listedOf(binding))).flat();
    return listed.filter(({ value }) => isWanted(value)).map(({ key }) => key);
  }

  /** Deletes the open questions of sessions, and their answers. */
  async function forgetQuestions(keys: Deno.KvKey[]): Promise<void> {
    await Promise.all(keys.map((key) => forgetReplies(database, key)));
  }

  /** Ends the sessions of a list beyond the most, the least used first. */
  async function closeOldest(list: string, most: number): Promise<void> {
    const listed = await database.list<SessionOfPerson>(sessionsOfKey(list));
    listed.sort((a, b) => b.value.expiresAt - a.value.expiresAt);
    // An unused session ends before a used one, but one that was opened a
    // moment ago is about to be used.
    const end = database.now() + UNUSED_SESSION_SECONDS;
    const isNew = ({ value: { expiresAt } }: Found<SessionOfPerson>) =>
      expiresAt <= end && expiresAt > end - NEW_SECONDS;
    const ended = listed.slice(most).filter((session) => !isNew(session));
    await closeListed(ended.map(({ key }) => key));
  }

  /** Ends listed sessions, in as many commits as needed. */
  async function closeListed(listed: Deno.KvKey[]): Promise<void> {
    const parts = [];
    while (listed.length > 0) {
      parts.push(listed.splice(-DELETIONS_PER_COMMIT));
    }
    await Promise.all(parts.map(async (some) => {
      const { write, report } = await closing(some);
      await database.commit(write);
      report();
    }));
  }

  /** Prepares the end of the sessions that these list entries name. */
  async function closing(listed: readonly Deno.KvKey[]) {
    const keys = listed.map(listedSessionKey);
    const ended = telemetry ? await database.getMany<Session[]>(keys) : [];
    return {
      /** Ends the sessions, as part of a commit. */
      write(transaction: Transaction): void {
        transaction.delete(...listed);
        for (const key of keys) transaction.expire(key);
      },
      /** Reports the sessions to telemetry, once they have ended. */
      report(): void {
        for (const { value } of ended.filter(isFound)) {
          reportEnd(value, "stopped", database.clock());
        }
      },
    };
  }

  return {
    closeOldest,

    /**
     * Prepares the end of every session that one of these grants used last:
     * returns the writes for a commit of the caller's. Sessions that do not fit
     * into it are ended at once.
     */
    async closeAllOf(
      binding: string,
      grantIds: ReadonlySet<string | undefined>,
    ) {
      const listed = await keysOf(binding, (it) => grantIds.has(it.grantId));
      database.background(() => forgetQuestions(listed.map(listedSessionKey)));
      const last = listed.splice(-DELETIONS_PER_COMMIT);
      await closeListed(listed);
      return await closing(last);
    },

    /** Deletes every session of a person, of any grant, with its questions. */
    async forgetAllOf(binding: string): Promise<void> {
      const listed = await keysOf(binding, () => true);
      await forgetQuestions(listed.map(listedSessionKey));
      await closeListed(listed);
    },

    /**
     * Counts the live sessions of a person for each grant.
     *
     * @param most how many are counted
     */
    async countsOf(
      binding: string,
      most = MAX_SESSIONS_COUNTED,
    ): Promise<SessionCounts> {
      const of = new Map<string | undefined, number>();
      let count = 0;
      const perRead = Math.min(most + 1, LISTED_PER_READ);
      for await (const some of listedOf(binding, perRead)) {
        for (const { value: { grantId } } of some) {
          if (++count > most) return { of, hasMore: true };
          of.set(grantId, (of.get(grantId) ?? 0) + 1);
        }
      }
      return { of, hasMore: false };
    },
  };
}
