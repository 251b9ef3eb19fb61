/**
 * Sessions of the 2025 revisions. Every process serves the sessions of all
 * others; one that was ended is unknown everywhere within a second.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Session Management
 */
import type {
  Implementation,
  LoggingLevel,
} from "@modelcontextprotocol/server";
import { formerBinding, isBoundTo } from "../auth/rules/former_subject.ts";
import { type Caller, isStranger } from "../caller.ts";
import { fingerprint, randomId } from "../crypto/crypto.ts";
import type { JsonObject } from "../json.ts";
import type { SessionRevision } from "../mcp/wire/revisions.ts";
import { telemetry } from "../telemetry/current.ts";
import {
  type Database,
  type Expiring,
  type Found,
  isFound,
} from "./database.ts";
import { isErased, unlessErased } from "./erased.ts";
import {
  listedSessionKey,
  sessionKey,
  sessionsOfKey,
  sessionsOfRange,
} from "./keys.ts";
import { recent } from "./recent.ts";
import { absent, type Transaction, type Write } from "./transaction.ts";

/** The lifetime of a session after its last use, in seconds. */
export const SESSION_SECONDS = 30 * 24 * 60 * 60;

/** The lifetime of a session until its first use: anyone may open one. */
export const UNUSED_SESSION_SECONDS = 60 * 60;

/** A use moves the end of a session only when this much of it has passed. */
const SLIDE_SECONDS = 24 * 60 * 60;

/** The record of a session. Times are epoch seconds. */
export interface Session extends Expiring {
  /**
   * The binding of its caller:
   * {@linkcode import("../caller.ts").Caller.binding}.
   */
  binding: string;
  /** The grant that used it last; the session ends with it. */
  grantId?: string;
  /**
   * The list that counts it: that of a network, for callers who are not told
   * apart; that of its binding if absent.
   */
  list?: string;
  revision: SessionRevision;
  /** Epoch milliseconds. */
  startedMilliseconds: number;
  clientInfo: Implementation;
  capabilities: JsonObject;
  logLevel?: LoggingLevel;
}

/** The list entry of a person's session. */
interface SessionOfPerson extends Expiring {
  grantId?: string;
}

/**
 * The sessions that one commit ends: each has two keys, and a commit takes a
 * thousand mutations, which other changes share.
 */
const DELETIONS_PER_COMMIT = 200;

/**
 * The most sessions of a person, and of a network whose callers are not told
 * apart: no one needs so many, but a client may run wild.
 */
const MOST_SESSIONS = 1000;
const MOST_OF_NETWORK = 10_000;
/** The time for which a new session is not ended by the count of sessions. */
const NEW_SECONDS = 60;
/**
 * A process counts the sessions of one list each time it has opened this many.
 */
const UNCOUNTED_SESSIONS = 200;

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

export type SessionStore = ReturnType<typeof sessionStore>;

/** Sessions in a database. */
export function sessionStore(
  database: Database,
  {
    most = MOST_SESSIONS,
    mostOfNetwork = MOST_OF_NETWORK,
    uncounted = UNCOUNTED_SESSIONS,
  } = {},
) {
  const sessions = recent(read, { clock: database.clock });
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

  /**
   * Moves the end of a session that is used; if this fails, a later use does
   * it.
   */
  async function slide(id: string, found: Found<Session>): Promise<void> {
    const session = {
      ...found.value,
      expiresAt: database.now() + SESSION_SECONDS,
    };
    await database.commit((transaction) =>
      write(transaction.check(found), id, session)
    );
  }

  /**
   * The list entries of a binding's sessions, some at a time, each with the
   * grant that used the session last.
   */
  async function* listedOf(
    binding: string,
    perRead = LISTED_PER_READ,
  ): AsyncGenerator<{ key: Deno.KvKey; grantId?: string }[]> {
    const former = formerBinding(binding);
    if (former !== undefined) yield* listedOf(former, perRead);
    for (let after = "", isLast = false; !isLast;) {
      const { found, last } = await database.listSome<SessionOfPerson>(
        sessionsOfRange(binding, after),
        perRead,
      );
      yield found.map(({ key, value: { grantId } }) => ({ key, grantId }));
      isLast = last === undefined;
      after = String(last?.at(-1));
    }
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
          tellEnd(value, "stopped");
        }
      },
    };
  }

  /** Reports to telemetry that a client, or its lost permission, ended one. */
  function tellEnd(
    { revision, startedMilliseconds }: Session,
    outcome: "ok" | "stopped",
  ): void {
    const milliseconds = database.clock() - startedMilliseconds;
    telemetry?.tellSession({ revision, outcome, milliseconds });
  }

  return {
    /**
     * Keeps a new session and gives its id: 43 visible characters, unguessable.
     * It lives for an hour until its first use.
     */
    async save(
      session: Omit<Session, "startedMilliseconds" | "expiresAt">,
    ): Promise<string> {
      const id = randomId();
      await database.commit((transaction) =>
        write(unlessErased(transaction, session), id, {
          ...session,
          startedMilliseconds: database.clock(),
          expiresAt: database.now() + UNUSED_SESSION_SECONDS,
        }).check(absent(sessionKey(id)))
      );
      if (++opened > uncounted) {
        opened = 0;
        const bound = session.list === undefined ? most : mostOfNetwork;
        database.background(() => endOldest(listOfSession(session), bound));
      }
      return id;
    },

    /**
     * Finds a live session, at most a second stale; its end is extended once a
     * day.
     */
    find: sessions.find,

    /** Makes the next `find` read again. */
    forget: sessions.forget,

    /** Stores the level of `logging/setLevel`. */
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
     * Records that another grant of the same person uses a session; if a race
     * is lost here, the next use records it.
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
     * Gives a stranger's session to a caller who has signed in since it began,
     * or one of version 0.2 to its person: their client goes on with the same
     * id. Undefined if it is someone else's.
     */
    async adopt(
      id: string,
      { binding, grantId }: Pick<Caller, "binding" | "grantId">,
    ): Promise<Session | undefined> {
      for (;;) {
        const found = await database.find<Session>(sessionKey(id));
        sessions.forget(id);
        if (!found || found.value.binding === binding) return found?.value;
        if (!mayAdopt(found.value, binding)) return undefined;
        const { list: _, ...rest } = found.value;
        const session = { ...rest, binding, grantId };
        const isDone = await database.commit((transaction) =>
          write(unlessErased(transaction, session).check(found), id, session)
            .delete(sessionsOfKey(listOfSession(found.value), fingerprint(id)))
        );
        if (isDone) return session;
        if (await isErased(database, session)) return undefined;
      }
    },

    /** Ends a caller's session; false if there is none. */
    async end(id: string, binding: string): Promise<boolean> {
      for (;;) {
        const found = await database.find<Session>(sessionKey(id));
        sessions.forget(id);
        if (!found || !isBoundTo(found.value.binding, binding)) return false;
        const isDone = await database.commit((transaction) =>
          transaction.check(found).end(found.key)
            .delete(sessionsOfKey(listOfSession(found.value), fingerprint(id)))
        );
        if (!isDone) continue;
        tellEnd(found.value, "ok");
        return true;
      }
    },

    /**
     * Ends every session that one of these grants used last, by writes for
     * another commit that this returns; sessions that do not fit into that
     * commit are ended before.
     */
    async endAllOf(
      binding: string,
      grantIds: ReadonlySet<string | undefined>,
    ): Promise<EndingSessions> {
      const listed: Deno.KvKey[] = [];
      for await (const some of listedOf(binding)) {
        listed.push(
          ...some.filter(({ grantId }) => grantIds.has(grantId))
            .map(({ key }) => key),
        );
      }
      const last = listed.splice(-DELETIONS_PER_COMMIT);
      await endListed(listed);
      return await endingOf(last);
    },

    /** Ends every session of a person, whichever grant used it. */
    async forgetAllOf(binding: string): Promise<void> {
      const listed: Deno.KvKey[] = [];
      for await (const some of listedOf(binding)) {
        listed.push(...some.map(({ key }) => key));
      }
      await endListed(listed);
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
        for (const { grantId } of some) {
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

/** Returns true if a session of another binding may become a caller's. */
export function mayAdopt(session: Session, binding: string): boolean {
  return isStranger(session) || isBoundTo(session.binding, binding);
}

/** The list that a session is in. */
function listOfSession({ list, binding }: Pick<Session, "list" | "binding">) {
  return list ?? binding;
}

function write(
  transaction: Transaction,
  id: string,
  session: Session,
): Transaction {
  const { expiresAt, grantId } = session;
  const list = sessionsOfKey(listOfSession(session), fingerprint(id));
  return transaction
    .set(sessionKey(id), session)
    .set<SessionOfPerson>(list, { grantId, expiresAt });
}
