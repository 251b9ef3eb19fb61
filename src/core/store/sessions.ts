/**
 * Sessions of MCP 2025. Every process serves all sessions; one that has ended
 * is unknown everywhere within a second. Each session is listed under its
 * person, or under a network whose callers have no identity.
 * @module
 * @see MCP 2025-11-25, Transports, Session Management
 */
import type {
  Implementation,
  LoggingLevel,
} from "@modelcontextprotocol/server";
import { type Caller, isStranger } from "../caller.ts";
import { fingerprint, randomId } from "../crypto/crypto.ts";
import type { JsonObject } from "../json.ts";
import {
  absent,
  type Database,
  type Entry,
  type Expiring,
  type Found,
  type Transaction,
} from "../kv/database.ts";
import { listedSessionKey, sessionKey, sessionsOfKey } from "../kv/keys.ts";
import { ENDED_PER_COMMIT, inParts, OwnerList } from "../kv/owner_list.ts";
import { LatestMap, recentReads } from "../cache.ts";
import type { SessionRevision } from "../protocol/revisions.ts";
import { telemetry } from "../telemetry/current.ts";
import { isErased, unlessErased } from "./erased.ts";
import { forgetReplies } from "./replies.ts";

/** The lifetime of a session after its last use. */
export const SESSION_SECONDS = 30 * 24 * 60 * 60;

/**
 * The lifetime of a session until its first use. Short, because anyone may open
 * sessions.
 */
export const UNUSED_SESSION_SECONDS = 60 * 60;

/** The record of a session. Times are epoch seconds. */
export interface McpSession extends Expiring {
  /** The caller's `binding`: issuer, resource and subject. */
  binding: string;
  /** The grant that used the session last; the session ends with it. */
  grantId?: string;
  /**
   * The list of the caller's network; absent if sessions are not limited by
   * network.
   */
  list?: string;
  revision: SessionRevision;
  /** The start of the session, in epoch milliseconds. */
  startedMilliseconds: number;
  clientInfo: Implementation;
  capabilities: JsonObject;
  logLevel?: LoggingLevel;
}

interface SessionEntry extends Expiring {
  grantId?: string;
}

function listKeyOf(
  id: string,
  { list, binding }: Pick<McpSession, "list" | "binding">,
): Deno.KvKey {
  return sessionsOfKey(list ?? binding, fingerprint(id));
}

/** Adds a session and its list entry to a commit. */
function setSession(
  transaction: Transaction,
  id: string,
  session: McpSession,
): Transaction {
  const { expiresAt, grantId } = session;
  return transaction
    .set(sessionKey(id), session)
    .set<SessionEntry>(listKeyOf(id, session), { grantId, expiresAt });
}

/**
 * The age below which an unused session is not ended, even if there are too
 * many.
 */
const NEW_SECONDS = 60;
/** The number of list entries that are read at a time. */
const LISTED_PER_READ = 500;
const MAX_SESSIONS_COUNTED = 2000;

export interface SessionCounts {
  /**
   * The number of sessions that each grant used last. The key undefined is for
   * sessions without a grant.
   */
  of: ReadonlyMap<string | undefined, number>;
  /** True if there are more sessions than were counted. */
  hasMore: boolean;
}

/**
 * Reports to telemetry that a session was ended by its client or with its
 * grant.
 */
function reportEnd(
  { revision, startedMilliseconds }: McpSession,
  outcome: "ok" | "stopped",
  time: number,
): void {
  const milliseconds = Math.max(0, time - startedMilliseconds);
  telemetry?.reportSession({ revision, outcome, milliseconds });
}

/** The minimum time between two extensions of a session. */
const SLIDE_SECONDS = 24 * 60 * 60;

/**
 * The maximum number of sessions of a person. No one needs that many, but a
 * faulty client may open them.
 */
const MAX_SESSIONS = 1000;
const MAX_SESSIONS_OF_NETWORK = 10_000;
/**
 * A process counts a list once it has added this fraction of the list's limit.
 */
const COUNTED_AFTER = 0.1;

export type SessionStore = ReturnType<typeof sessionStore>;

export function sessionStore(
  database: Database,
  {
    most = MAX_SESSIONS,
    mostOfNetwork = MAX_SESSIONS_OF_NETWORK,
    countedAfter = COUNTED_AFTER,
  } = {},
) {
  const sessions = recentReads(read);
  const lists = new OwnerList<McpSession, SessionEntry>(
    database,
    sessionsOfKey,
    listedSessionKey,
  );
  /**
   * The number of sessions that this process has added to each list since it
   * last counted it.
   */
  const opened = new LatestMap<number>();

  async function read(id: string): Promise<McpSession | undefined> {
    const found = await database.find<McpSession>(sessionKey(id));
    if (!found) return undefined;
    const left = found.value.expiresAt - database.now();
    if (left < SESSION_SECONDS - SLIDE_SECONDS) {
      const expiresAt = database.now() + SESSION_SECONDS;
      await database.commit((transaction) =>
        setSession(transaction.check(found), id, { ...found.value, expiresAt })
      ).catch(() => {}); // A later use moves its end.
    }
    return found.value;
  }

  /** Deletes the open questions of sessions, and the responses. */
  async function forgetQuestions(
    entries: readonly Found<SessionEntry>[],
  ): Promise<void> {
    await Promise.all(
      entries.map(({ key }) => forgetReplies(database, listedSessionKey(key))),
    );
  }

  /** Counts a new session of a list; now and then counts the whole list. */
  function countOpening(list: string, bound: number): void {
    const openings = (opened.get(list) ?? 0) + 1;
    const isDue = openings > bound * countedAfter;
    opened.set(list, isDue ? 0 : openings);
    if (isDue) database.background(() => closeOldest(list, bound));
  }

  /** Ends the least recently used sessions of a list, down to its limit. */
  async function closeOldest(list: string, bound: number): Promise<void> {
    const entries = await lists.entries(list);
    entries.sort((a, b) => b.value.expiresAt - a.value.expiresAt);
    // An unused session ends before a used one, unless it is new: then it is
    // about to be used.
    const end = database.now() + UNUSED_SESSION_SECONDS;
    await closeEntries(
      entries.slice(bound).filter(({ value: { expiresAt } }) =>
        expiresAt > end || expiresAt <= end - NEW_SECONDS
      ),
    );
  }

  function closeEntries(entries: readonly Found<SessionEntry>[]) {
    return lists.end(entries, async (some) => {
      const { write, report } = await closing(some);
      await database.commit(write);
      report();
    });
  }

  /** Prepares the end of the sessions in list entries. */
  async function closing(entries: readonly Pick<Entry<unknown>, "key">[]) {
    const ended = telemetry
      ? await database.getMany<McpSession[]>(
        entries.map((it) => listedSessionKey(it.key)),
      )
      : [];
    return {
      /** Adds the end of the sessions to a commit. */
      write: (it: Transaction): void => lists.write(it, entries),
      /** Reports the sessions to telemetry, after that commit. */
      report(): void {
        for (const { value } of ended) {
          if (value) reportEnd(value, "stopped", database.clock());
        }
      },
    };
  }

  return {
    /**
     * Stores a new session and returns its id of 43 random characters. Until
     * its first use the session lives for an hour.
     */
    async save(
      session: Omit<McpSession, "startedMilliseconds" | "expiresAt">,
    ): Promise<string> {
      const id = randomId();
      await database.commit((transaction) =>
        setSession(unlessErased(transaction, session), id, {
          ...session,
          startedMilliseconds: database.clock(),
          expiresAt: database.now() + UNUSED_SESSION_SECONDS,
        }).check(absent(sessionKey(id)))
      );
      const { list, binding } = session;
      countOpening(list ?? binding, list ? mostOfNetwork : most);
      return id;
    },

    /**
     * Finds a live session, as it was at most a second ago. Its first use of
     * each day extends it.
     */
    find: sessions.find,

    /** Makes the next `find` read the database. */
    forget: sessions.forget,

    /** Stores the level of `logging/setLevel`. */
    async setLogLevel(id: string, logLevel: LoggingLevel): Promise<void> {
      await database.change(
        sessionKey(id),
        (transaction, { value }: Entry<McpSession>) => {
          if (!value || value.logLevel === logLevel) return;
          setSession(transaction, id, { ...value, logLevel });
        },
      );
      sessions.forget(id);
    },

    /**
     * Records that another grant of the same person uses a session. If another
     * commit changes the session first, the next use records it.
     */
    async use(id: string, grantId: string | undefined): Promise<void> {
      const found = await database.find<McpSession>(sessionKey(id));
      if (!found || found.value.grantId === grantId) return;
      await database.commit((transaction) =>
        setSession(transaction.check(found), id, { ...found.value, grantId })
      );
      sessions.forget(id);
    },

    /**
     * Gives an anonymous caller's session to the person they have signed in as,
     * so that the client keeps the session id. Returns undefined if the session
     * is another caller's.
     */
    adopt(
      id: string,
      { binding, grantId }: Pick<Caller, "binding" | "grantId">,
    ): Promise<McpSession | undefined> {
      return database.change(
        sessionKey(id),
        async (transaction, { value }: Entry<McpSession>, before) => {
          sessions.forget(id);
          if (!value || value.binding === binding) return value;
          if (!isStranger(value)) return undefined;
          const { list: _, ...rest } = value;
          const session = { ...rest, binding, grantId };
          if (before && await isErased(database, session)) return undefined;
          setSession(unlessErased(transaction, session), id, session)
            .delete(listKeyOf(id, value));
          return session;
        },
      );
    },

    /**
     * Ends a caller's session. Returns false if the caller has no such session.
     */
    async close(id: string, binding: string): Promise<boolean> {
      const ended = await database.change(
        sessionKey(id),
        (transaction, { key, value }: Entry<McpSession>) => {
          sessions.forget(id);
          if (value?.binding !== binding) return undefined;
          transaction.expire(key).delete(listKeyOf(id, value));
          return value;
        },
      );
      if (ended) reportEnd(ended, "ok", database.clock());
      return ended !== undefined;
    },

    /**
     * Prepares the end of all sessions that one of these grants used last.
     * Returns writes for the caller's commit; sessions that do not fit into it
     * are ended at once.
     */
    async closeAllOf(
      binding: string,
      grantIds: ReadonlySet<string | undefined>,
    ) {
      const entries = await lists.entries(
        binding,
        ({ value }) => grantIds.has(value.grantId),
      );
      database.background(() => forgetQuestions(entries));
      const [last = [], ...others] = inParts(entries, ENDED_PER_COMMIT);
      await closeEntries(others.flat());
      return await closing(last);
    },

    /** Deletes every session of a person, with its questions. */
    async forgetAllOf(binding: string): Promise<void> {
      const entries = await lists.entries(binding);
      await forgetQuestions(entries);
      await closeEntries(entries);
    },

    /**
     * Counts the sessions of a person for each grant.
     *
     * @param most the maximum count
     */
    async countsOf(
      binding: string,
      most = MAX_SESSIONS_COUNTED,
    ): Promise<SessionCounts> {
      const of = new Map<string | undefined, number>();
      let count = 0;
      const perRead = Math.min(most + 1, LISTED_PER_READ);
      for await (const some of lists.inParts(binding, perRead)) {
        for (const { value: { grantId } } of some) {
          if (++count > most) return { of, hasMore: true };
          of.set(grantId, (of.get(grantId) ?? 0) + 1);
        }
      }
      return { of, hasMore: false };
    },
  };
}
