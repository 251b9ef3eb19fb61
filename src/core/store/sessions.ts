/**
 * Sessions of the 2025 revisions. Every process serves the sessions of all
 * others; one that was ended is unknown everywhere within a second.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Session Management
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import { type Caller, isStranger } from "../caller.ts";
import { randomId } from "../crypto/crypto.ts";
import { absent, type Database, type Entry } from "../kv/database.ts";
import { isErased, unlessErased } from "./erased.ts";
import { sessionKey } from "../kv/keys.ts";
import { recent } from "./recent.ts";
import {
  listKeyOf,
  reportEnd,
  type Session,
  SESSION_SECONDS,
  sessionLists,
  setSession,
  UNUSED_SESSION_SECONDS,
} from "./session_list.ts";

export { SESSION_SECONDS, UNUSED_SESSION_SECONDS } from "./session_list.ts";
export type { Session, SessionCounts } from "./session_list.ts";

/** The time after an extension until a use extends a session again. */
const SLIDE_SECONDS = 24 * 60 * 60;

/**
 * The most sessions of a person, and of a network whose callers are not told
 * apart: no one needs so many, but a client may run wild.
 */
const MAX_SESSIONS = 1000;
const MAX_SESSIONS_OF_NETWORK = 10_000;
/** The sessions that a process opens between two counts of a list. */
const UNCOUNTED_SESSIONS = 200;

export type SessionStore = ReturnType<typeof sessionStore>;

export function sessionStore(
  database: Database,
  {
    most = MAX_SESSIONS,
    mostOfNetwork = MAX_SESSIONS_OF_NETWORK,
    uncounted = UNCOUNTED_SESSIONS,
  } = {},
) {
  const sessions = recent(read);
  const { closeOldest, ...lists } = sessionLists(database);
  let opened = 0;

  async function read(id: string): Promise<Session | undefined> {
    const found = await database.find<Session>(sessionKey(id));
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

  return {
    ...lists,

    /**
     * Stores a new session and returns its id: 43 visible characters,
     * unguessable. It lives for an hour until its first use.
     */
    async save(
      session: Omit<Session, "startedMilliseconds" | "expiresAt">,
    ): Promise<string> {
      const id = randomId();
      await database.commit((transaction) =>
        setSession(unlessErased(transaction, session), id, {
          ...session,
          startedMilliseconds: database.clock(),
          expiresAt: database.now() + UNUSED_SESSION_SECONDS,
        }).check(absent(sessionKey(id)))
      );
      if (++opened > uncounted) {
        opened = 0;
        const { list, binding } = session;
        const bound = list === undefined ? most : mostOfNetwork;
        database.background(() => closeOldest(list ?? binding, bound));
      }
      return id;
    },

    /** Finds a live session, at most a second stale; extends it daily. */
    find: sessions.find,

    /** Makes the next `find` read again. */
    forget: sessions.forget,

    /** Stores the level of `logging/setLevel`. */
    async setLogLevel(id: string, logLevel: LoggingLevel): Promise<void> {
      await database.change(
        sessionKey(id),
        (transaction, { value }: Entry<Session>) => {
          if (!value || value.logLevel === logLevel) return;
          setSession(transaction, id, { ...value, logLevel });
        },
      );
      sessions.forget(id);
    },

    /**
     * Records that another grant of the same person uses a session; if a race
     * is lost here, the next use records it.
     */
    async use(id: string, grantId: string | undefined): Promise<void> {
      const found = await database.find<Session>(sessionKey(id));
      if (!found || found.value.grantId === grantId) return;
      await database.commit((transaction) =>
        setSession(transaction.check(found), id, { ...found.value, grantId })
      );
      sessions.forget(id);
    },

    /**
     * Gives a stranger's session to a caller who has signed in since it began:
     * their client goes on with the same id. Undefined if it is someone else's.
     */
    adopt(
      id: string,
      { binding, grantId }: Pick<Caller, "binding" | "grantId">,
    ): Promise<Session | undefined> {
      return database.change(
        sessionKey(id),
        async (transaction, { value }: Entry<Session>, before) => {
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

    /** Ends a caller's session. Returns false if there is none. */
    async close(id: string, binding: string): Promise<boolean> {
      const ended = await database.change(
        sessionKey(id),
        (transaction, { key, value }: Entry<Session>) => {
          sessions.forget(id);
          if (value?.binding !== binding) return undefined;
          transaction.expire(key).delete(listKeyOf(id, value));
          return value;
        },
      );
      if (ended) reportEnd(ended, "ok", database.clock());
      return ended !== undefined;
    },
  };
}
