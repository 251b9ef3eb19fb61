/**
 * Client assertions (`jti`) and request states, each of which may be used once.
 * If a request is answered with 503, its use is ignored, even if the database
 * recorded it, so that the client can send the request again.
 * @module
 */
import type { Database, Expiring, Write } from "../kv/database.ts";
import { assertionKey, spentStateKey } from "../kv/keys.ts";
import { secretStore } from "./secrets.ts";

/**
 * The time for which the record of a use outlives the assertion or state. A
 * clock that is set back could make the assertion or state valid again; it is
 * still known as used then.
 */
const KEPT_LONGER_SECONDS = 60 * 60;

/** One use of an assertion or state. */
export interface SingleUse {
  /** Undoes the use, because the request is answered with 503 after all. */
  giveBack(): void;
}

/**
 * Makes the store of used assertions or states.
 *
 * @param keyOf returns the key; `expiresAt` is the end of the time in which a
 * second use would be possible
 */
function onceStore<T extends Expiring>(
  database: Database,
  keyOf: (thing: T) => Deno.KvKey,
) {
  const useOf = ({ expiresAt }: T): Expiring => ({
    expiresAt: expiresAt + KEPT_LONGER_SECONDS,
  });

  /** Makes the write of a use; its commit fails if there was one before. */
  function using(thing: T): Write {
    return (transaction) => transaction.create(keyOf(thing), useOf(thing));
  }

  /**
   * Makes the write of a use. Undefined if there was an earlier use, except one
   * whose request was answered with 503.
   */
  async function usingAgain(thing: T): Promise<Write | undefined> {
    // An expired record still counts as a use, until it is deleted.
    const entry = await database.get<Expiring>(keyOf(thing));
    if (entry.versionstamp === null) return using(thing);
    if (!await database.mayRepeat(entry)) return undefined;
    return (transaction) =>
      transaction.check(entry).set(entry.key, useOf(thing));
  }

  /** Records a use; returns undefined if there was one before. */
  function use(thing: T): Promise<SingleUse | undefined> {
    const key = keyOf(thing);
    // Most are unused, so the record is read only if the commit fails.
    const unused = { key, value: undefined, versionstamp: null };
    return database.change(key, async (transaction, entry) => {
      const isUsed = entry.versionstamp !== null;
      if (isUsed && !await database.mayRepeat(entry)) return undefined;
      transaction.set(key, useOf(thing));
      return { giveBack: () => database.giveUp(transaction) };
    }, unused);
  }

  return { using, usingAgain, use };
}

interface Assertion extends Expiring {
  issuer: string;
  jti: string;
}

export type AssertionStore = ReturnType<typeof assertionStore>;

/** Makes the store of used assertions, of clients and of identity providers. */
export function assertionStore(database: Database) {
  return onceStore<Assertion>(
    database,
    ({ issuer, jti }) => assertionKey(issuer, jti),
  );
}

export type StateStore = ReturnType<typeof stateStore>;

/**
 * Makes the store of used request states, with the key that encrypts all
 * states.
 */
export function stateStore(database: Database) {
  const secrets = secretStore(database);
  const nonces = onceStore<Expiring & { nonce: string }>(
    database,
    ({ nonce }) => spentStateKey(nonce),
  );
  return {
    /** Returns the encryption key, which is the same in every process. */
    key: (): Promise<Uint8Array> => secrets.find("request-state"),

    /**
     * Records the use of a state's nonce. Returns false if it was used before.
     */
    async spend(nonce: string, { expiresAt }: Expiring): Promise<boolean> {
      return await nonces.use({ nonce, expiresAt }) !== undefined;
    },
  };
}
