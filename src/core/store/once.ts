/**
 * Assertions and request states: each may be used once. A request that is
 * answered with 503 uses nothing up, even if the database applied its commit.
 * So the request may be sent again.
 *
 * @module
 */
import type { Database, Expiring, Write } from "../kv/database.ts";
import { assertionKey, spentStateKey } from "../kv/keys.ts";
import { secretStore } from "./secrets.ts";

/**
 * The seconds that the record of a use outlives the thing itself. If a clock
 * that was ahead is set back, the thing is valid again, and still known as
 * used.
 */
const KEPT_LONGER_SECONDS = 60 * 60;

/** One use of a thing that may be used once. */
export interface Use {
  /** Notes that the request got 503 after all: the thing may be used again. */
  giveBack(): void;
}

/**
 * Opens the records of used things of one kind.
 *
 * @param keyOf the key of a thing; `expiresAt` is the end of the time in which
 * it could be used again
 */
function onceStore<T extends Expiring>(
  database: Database,
  keyOf: (thing: T) => Deno.KvKey,
) {
  const useOf = ({ expiresAt }: T): Expiring => ({
    expiresAt: expiresAt + KEPT_LONGER_SECONDS,
  });

  /** Marks a thing as used, in a commit that fails if it was used before. */
  function using(thing: T): Write {
    return (transaction) => transaction.create(keyOf(thing), useOf(thing));
  }

  /**
   * Returns the write that marks a thing as used; undefined if it was used
   * before. A use that was answered with 503 does not count.
   */
  async function usingAgain(thing: T): Promise<Write | undefined> {
    // An expired record counts as a use until it is collected.
    const entry = await database.get<Expiring>(keyOf(thing));
    if (entry.versionstamp === null) return using(thing);
    if (!await database.mayRepeat(entry)) return undefined;
    return (transaction) =>
      transaction.check(entry).set(entry.key, useOf(thing));
  }

  /** Marks a thing as used by a commit; undefined if it was used before. */
  function use(thing: T): Promise<Use | undefined> {
    const key = keyOf(thing);
    // Most things are unused, so the record is read only after a failed commit.
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

/** An assertion, by its issuer and its name there (RFC 7523 §3). */
interface Assertion extends Expiring {
  issuer: string;
  jti: string;
}

export type AssertionStore = ReturnType<typeof assertionStore>;

/** Opens the used assertions: of clients, and of identity providers. */
export function assertionStore(database: Database) {
  return onceStore<Assertion>(
    database,
    ({ issuer, jti }) => assertionKey(issuer, jti),
  );
}

export type StateStore = ReturnType<typeof stateStore>;

/** Opens the spent request states, and the key that seals all states. */
export function stateStore(database: Database) {
  const secrets = secretStore(database);
  const nonces = onceStore<Expiring & { nonce: string }>(
    database,
    ({ nonce }) => spentStateKey(nonce),
  );
  return {
    /** Returns the sealing key: made once, then the same in every process. */
    key: (): Promise<Uint8Array> => secrets.find("request-state"),

    /** Marks a nonce as used. Returns false if it was used before. */
    async spend(nonce: string, { expiresAt }: Expiring): Promise<boolean> {
      return await nonces.use({ nonce, expiresAt }) !== undefined;
    },
  };
}
