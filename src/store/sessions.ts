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
import { fingerprint, randomId } from "../crypto.ts";
import type { JsonObject } from "../json.ts";
import type { SessionRevision } from "../protocol/revisions.ts";
import { sessionKey, sessionsOfKey } from "./keys.ts";
import {
  commit,
  expireIn,
  type Expiring,
  find,
  type Found,
  reach,
} from "./kv.ts";
import { now } from "../clock.ts";
import { recent } from "./recent.ts";

/** How long a session lives after its last use. */
export const SESSION_SECONDS = 24 * 60 * 60;

/** A use moves the end of a session only when this much of it has passed. */
const SLIDE_SECONDS = 6 * 60 * 60;

/** What is known of a session. Times are epoch seconds. */
export interface Session extends Expiring {
  /** Whose it is: {@linkcode import("../caller.ts").Caller.binding}. */
  binding: string;
  revision: SessionRevision;
  clientInfo: Implementation;
  capabilities: JsonObject;
  logLevel?: LoggingLevel;
  createdAt: number;
}

/** Sessions in Deno KV. */
export interface SessionStore {
  /** Keeps a new session and gives its id: 43 visible characters, unguessable. */
  save(session: Omit<Session, "createdAt" | "expiresAt">): Promise<string>;
  /**
   * A live session, at most a second stale; its end slides a few times a day.
   * Without `keep` the next read is fresh again.
   */
  find(
    id: string,
    options?: { keep?: boolean },
  ): Session | undefined | Promise<Session | undefined>;
  /** Remembers `logging/setLevel`. */
  setLogLevel(id: string, logLevel: LoggingLevel): Promise<void>;
  /** Ends a session; false when there was none. */
  end(id: string, binding: string): Promise<boolean>;
  /** Ends every session of a binding. */
  endAllOf(binding: string): Promise<void>;
  /** The live sessions of a binding. */
  listOf(binding: string): Promise<Session[]>;
}

/** Sessions in a database. */
export function sessionStore(kv: Deno.Kv): SessionStore {
  const sessions = recent(read);

  async function read(id: string): Promise<Session | undefined> {
    const found = await find<Session>(kv, sessionKey(id));
    if (!found) return undefined;
    if (found.value.expiresAt - now() < SESSION_SECONDS - SLIDE_SECONDS) {
      return await update(id, found, {});
    }
    return found.value;
  }

  /** Writes a session that was read; whoever loses the race keeps the winner's. */
  async function update(
    id: string,
    { value, versionstamp }: Found<Session>,
    change: Partial<Session>,
  ): Promise<Session> {
    const key = sessionKey(id);
    const session = { ...value, ...change, ...lifetime() };
    await commit(
      kv,
      (operation) => write(operation.check({ key, versionstamp }), id, session),
    );
    return session;
  }

  async function listKeysOf(binding: string): Promise<Deno.KvKey[]> {
    const prefix = sessionsOfKey(binding);
    return await reach(async () => {
      const keys: Deno.KvKey[] = [];
      for await (const { key } of kv.list({ prefix })) {
        keys.push(["session", key[2]]);
      }
      return keys;
    });
  }

  return {
    async save(session) {
      const id = randomId();
      const saved = { ...session, createdAt: now(), ...lifetime() };
      await commit(kv, (operation) => write(operation, id, saved));
      return id;
    },

    find: (id, { keep = true } = {}) => keep ? sessions.find(id) : read(id),

    async setLogLevel(id, logLevel) {
      for (let isDone = false; !isDone;) {
        const found = await find<Session>(kv, sessionKey(id));
        if (!found) return;
        const { value, versionstamp } = found;
        isDone = await commit(kv, (operation) =>
          write(
            operation.check({ key: sessionKey(id), versionstamp }),
            id,
            { ...value, logLevel },
          ));
      }
      sessions.forget(id);
    },

    async end(id, binding) {
      const key = sessionKey(id);
      for (let isDone = false; !isDone;) {
        const found = await find<Session>(kv, key);
        if (found?.value.binding !== binding) return false;
        const { versionstamp } = found;
        isDone = await commit(
          kv,
          (operation) =>
            remove(operation.check({ key, versionstamp }), key, binding),
        );
      }
      sessions.forget(id);
      return true;
    },

    async endAllOf(binding) {
      for (const key of await listKeysOf(binding)) {
        await commit(kv, (operation) => remove(operation, key, binding));
      }
    },

    async listOf(binding) {
      const found = await Promise.all(
        (await listKeysOf(binding)).map((key) => find<Session>(kv, key)),
      );
      return found.flatMap((session) => session ? [session.value] : []);
    },
  };
}

function lifetime(): Expiring {
  return { expiresAt: now() + SESSION_SECONDS };
}

function write(
  operation: Deno.AtomicOperation,
  id: string,
  session: Session,
): Deno.AtomicOperation {
  const { expiresAt, binding } = session;
  return operation
    .set(sessionKey(id), session, expireIn(session))
    .set(
      sessionsOfKey(binding, fingerprint(id)),
      { expiresAt },
      expireIn(session),
    );
}

function remove(
  operation: Deno.AtomicOperation,
  key: Deno.KvKey,
  binding: string,
): Deno.AtomicOperation {
  const name = key[1] as string;
  return operation.delete(key).delete(sessionsOfKey(binding, name));
}
