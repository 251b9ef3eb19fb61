/**
 * Sessions of the 2025 revisions. Any process serves a session that any other
 * made; one that was ended is unknown everywhere within a second.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Session Management
 */
import type {
  Implementation,
  LoggingLevel,
} from "@modelcontextprotocol/server";
import { type Bound, mayAdopt } from "../caller.ts";
import { fingerprint, randomId } from "../crypto.ts";
import type { JsonObject } from "../json.ts";
import type { SessionRevision } from "../protocol/revisions.ts";
import type { Database, Expiring, Found } from "./database.ts";
import { listedSessionKey, sessionKey, sessionsOfKey } from "./keys.ts";
import { recent } from "./recent.ts";
import { type EndingSessions, sessionEnds } from "./session_ends.ts";
import type { Transaction } from "./transaction.ts";

/** How long a session lives after its last use. */
export const SESSION_SECONDS = 30 * 24 * 60 * 60;

/** A use moves the end of a session only when this much of it has passed. */
const SLIDE_SECONDS = 24 * 60 * 60;

/** What is known of a session. Times are epoch seconds. */
export interface Session extends Expiring {
  /** Whose it is: {@linkcode import("../caller.ts").Caller.binding}. */
  binding: string;
  /** The grant that used it last, and that it ends with. */
  grantId?: string;
  revision: SessionRevision;
  /** Epoch milliseconds; unknown of what began under version 0.2 or before. */
  startedMilliseconds?: number;
  clientInfo: Implementation;
  capabilities: JsonObject;
  logLevel?: LoggingLevel;
}

/** What is listed of a person's session. */
interface SessionOfPerson extends Expiring {
  grantId?: string;
}

/** Two keys each; a commit takes a thousand, and other things end in it. */
const DELETIONS_PER_COMMIT = 200;

/** What a person may have: no client needs so many, but one may run wild. */
const MOST_SESSIONS = 10_000;
/** Those of who opens a process's next session after so many are counted. */
const UNCOUNTED_SESSIONS = 1000;

export type SessionStore = ReturnType<typeof sessionStore>;

/** Sessions in a database. */
export function sessionStore(
  database: Database,
  { most = MOST_SESSIONS, uncounted = UNCOUNTED_SESSIONS } = {},
) {
  const sessions = recent(read, { clock: database.clock });
  const ends = sessionEnds(database);
  let opened = 0;

  async function read(id: string): Promise<Session | undefined> {
    const found = await database.find<Session>(sessionKey(id));
    if (!found) return undefined;
    const left = found.value.expiresAt - database.now();
    if (left < SESSION_SECONDS - SLIDE_SECONDS) {
      await slide(id, found).catch(() => {});
    }
    return found.value;
  }

  /** Moves the end of a session that is used; a later use may do it too. */
  async function slide(id: string, found: Found<Session>): Promise<void> {
    const session = { ...found.value, ...lifetime() };
    await database.commit((transaction) =>
      write(transaction.check(found), id, session)
    );
  }

  function lifetime(): Expiring {
    return { expiresAt: database.now() + SESSION_SECONDS };
  }

  /** Where the sessions of a binding are listed that a grant used last. */
  async function listOf(
    binding: string,
    grantId: string,
  ): Promise<Deno.KvKey[]> {
    const listed = await database.list<SessionOfPerson>(sessionsOfKey(binding));
    // Up to version 0.2 a grant was named by the session alone.
    const silent = listed.filter(({ value }) => value.grantId === undefined);
    const sessions = await database.getMany<Session[]>(
      silent.map(({ key }) => listedSessionKey(key)),
    );
    return [
      ...listed.filter(({ value }) => value.grantId === grantId),
      ...silent.filter((_, n) => sessions[n].value?.grantId === grantId),
    ].map(({ key }) => key);
  }

  /** Ends the sessions of a binding beyond the most, the least used first. */
  async function endOldest(binding: string): Promise<void> {
    const listed = await database.list<SessionOfPerson>(sessionsOfKey(binding));
    listed.sort((a, b) => b.value.expiresAt - a.value.expiresAt);
    await endListed(listed.slice(most).map(({ key }) => key));
  }

  /** Ends listed sessions, in as many commits as that takes. */
  async function endListed(listed: Deno.KvKey[]): Promise<void> {
    const parts = [];
    while (listed.length > 0) {
      parts.push(listed.splice(-DELETIONS_PER_COMMIT));
    }
    await Promise.all(parts.map(async (some) => {
      const { write, tell } = await ends.begin(some);
      await database.commit(write);
      tell();
    }));
  }

  return {
    /**
     * Keeps a new session and gives its id: 43 visible characters, unguessable.
     *
     * @param isPersons whether its binding is one person's, who may have so many
     */
    async save(
      session: Omit<Session, "startedMilliseconds" | "expiresAt">,
      isPersons = false,
    ): Promise<string> {
      const id = randomId();
      await database.commit((transaction) =>
        write(transaction, id, {
          ...session,
          startedMilliseconds: database.clock(),
          ...lifetime(),
        })
      );
      if (++opened > uncounted && isPersons) {
        opened = 0;
        database.background(() => endOldest(session.binding));
      }
      return id;
    },

    /** A live session, at most a second stale; its end slides once a day. */
    find: sessions.find,

    /** Lets the next read be fresh. */
    forget: sessions.forget,

    /** Remembers `logging/setLevel`. */
    async setLogLevel(id: string, logLevel: LoggingLevel): Promise<void> {
      for (;;) {
        const found = await database.find<Session>(sessionKey(id));
        if (!found) return;
        const isDone = await database.commit((transaction) =>
          write(transaction.check(found), id, { ...found.value, logLevel })
        );
        if (!isDone) continue;
        sessions.forget(id);
        return;
      }
    },

    /**
     * Remembers that another grant of the same person uses a session; anyone who
     * loses a race here is remembered at the next use.
     */
    async use(id: string, grantId: string | undefined): Promise<void> {
      const found = await database.find<Session>(sessionKey(id));
      if (!found || found.value.grantId === grantId) return;
      await database.commit((transaction) =>
        write(transaction.check(found), id, { ...found.value, grantId })
      );
      sessions.forget(id);
    },

    /**
     * Gives a session to who has signed in since it began, or began it under
     * version 0.1: their client goes on with the id it has. Undefined when it
     * is someone else's.
     */
    async adopt(id: string, caller: Bound): Promise<Session | undefined> {
      const { binding, grantId } = caller;
      for (;;) {
        const found = await database.find<Session>(sessionKey(id));
        sessions.forget(id);
        if (!found || found.value.binding === binding) return found?.value;
        if (!mayAdopt(caller, found.value)) return undefined;
        const session = { ...found.value, binding, grantId };
        const isDone = await database.commit((transaction) =>
          write(transaction.check(found), id, session)
            .delete(sessionsOfKey(found.value.binding, fingerprint(id)))
        );
        if (isDone) return session;
      }
    },

    /**
     * Ends a session; false when there was none.
     *
     * @param former what it may be bound to as well
     */
    async end(id: string, binding: string, former?: string): Promise<boolean> {
      for (;;) {
        const found = await database.find<Session>(sessionKey(id));
        sessions.forget(id);
        if (!found) return false;
        const { binding: bound } = found.value;
        if (bound !== binding && bound !== former) return false;
        const isDone = await database.commit((transaction) =>
          transaction.check(found).end(found.key, database.now())
            .delete(sessionsOfKey(bound, fingerprint(id)))
        );
        if (!isDone) continue;
        ends.tell([found], "ok");
        return true;
      }
    },

    /**
     * Ends every session that a grant used last, in the commit that this gives
     * what to write in; more than fit into it are ended before.
     */
    async endAllOf(binding: string, grantId: string): Promise<EndingSessions> {
      const listed = await listOf(binding, grantId);
      const last = listed.splice(-DELETIONS_PER_COMMIT);
      await endListed(listed);
      return await ends.begin(last);
    },

    /** How many live sessions a grant used last. */
    async countOf(binding: string, grantId: string): Promise<number> {
      return (await listOf(binding, grantId)).length;
    },
  };
}

function write(
  transaction: Transaction,
  id: string,
  session: Session,
): Transaction {
  const { expiresAt, binding, grantId } = session;
  return transaction
    .set(sessionKey(id), session)
    .set<SessionOfPerson>(sessionsOfKey(binding, fingerprint(id)), {
      grantId,
      expiresAt,
    });
}
