/**
 * The way of tokens through the queue of revocations: one process at a time
 * tries. If that process dies, or the service does not answer, another tries
 * later.
 *
 * @module
 */
import type { Sealing } from "../../core/crypto/sealing.ts";
import { accountSeals } from "./account_seals.ts";
import type { AccountRecord } from "./accounts.ts";
import type { Database, Found } from "../../core/kv/database.ts";
import { revocationKey } from "../../core/kv/keys.ts";
import { isOtherAccount, type RevocationRecord } from "./revocation_record.ts";
import type { Write } from "../../core/kv/transaction.ts";

/** The time for which a process may try, before another one does. */
const LEASE_SECONDS = 40;

/** The pauses between tries, in seconds: each is twice as long as the last. */
const FIRST_PAUSE_SECONDS = 60;
const MAX_PAUSE_SECONDS = 60 * 60;

/** The number of revocations that are read at a time. */
const BATCH = 20;

type Queued = Found<RevocationRecord>;

/** Opens the queue. It has no key that opens the tokens. */
export function revocationQueue(database: Database) {
  /** Moves a record to another time; undefined if another process was faster. */
  async function move(
    { value: before, ...found }: Queued,
    dueSeconds: number,
    tries: number,
  ): Promise<Queued | undefined> {
    const key = revocationKey(dueSeconds, String(found.key.at(-1)));
    const value = { ...before, tries };
    const versionstamp = await database.commit((transaction) =>
      transaction.check(found).delete(found.key).set(key, value)
    );
    return versionstamp === undefined
      ? undefined
      : { key, value, versionstamp };
  }

  return {
    /** Reads the revocations that are due, or all, some at a time. */
    read: (untilSeconds = database.now()): AsyncGenerator<Queued[]> =>
      database.rangeInParts<RevocationRecord>(
        { start: revocationKey(0), end: revocationKey(untilSeconds + 1) },
        BATCH,
      ),

    /** Takes a revocation for this process; undefined if another has it. */
    take: (found: Queued) =>
      move(found, database.now() + LEASE_SECONDS, found.value.tries + 1),

    /** Puts a revocation off. Returns false if there is no time left for it. */
    async putOff(taken: Queued): Promise<boolean> {
      const { tries, expiresAt } = taken.value;
      const pause = FIRST_PAUSE_SECONDS * 2 ** (tries - 1);
      const next = database.now() + Math.min(pause, MAX_PAUSE_SECONDS);
      if (next >= expiresAt) return false;
      await move(taken, next, tries);
      return true;
    },

    /** Makes the revocation of queued tokens due now. */
    async hasten(key: Deno.KvKey): Promise<void> {
      const found = await database.find<RevocationRecord>(key);
      if (found) await move(found, database.now(), found.value.tries);
    },

    /**
     * Makes the write that takes tokens out of the queue because they are kept;
     * undefined if their revocation has begun.
     */
    async keeping(key: Deno.KvKey): Promise<Write | undefined> {
      const found = await database.find(key);
      return found &&
        ((transaction) => void transaction.check(found).delete(key));
    },

    /** Removes a revocation that is done. */
    async drop(taken: Queued): Promise<void> {
      await database.commit((transaction) =>
        transaction.check(taken).delete(taken.key)
      );
    },
  };
}

/**
 * Makes the functions that open and reseal the tokens in the queue, with the
 * operator's keys.
 */
export function queuedTokens(database: Database, sealing: Sealing) {
  const { open, openTokens } = accountSeals(sealing);

  return {
    /**
     * Opens the tokens of a revocation; undefined if their person has connected
     * what may be the same account again, or uses the same token.
     *
     * @throws {Error} if that cannot be known, or no key opens them
     */
    async open({ value }: Queued): Promise<string | undefined> {
      const { account, service } = value;
      const opened = await openTokens(value);
      if (!opened) throw new Error("No key opens these tokens");
      const { accessToken } = JSON.parse(opened.tokens);
      const all = await database.list<AccountRecord>(account.slice(0, 2));
      for (
        const found of all.filter(({ value }) => value.service === service)
      ) {
        if (!isOtherAccount(found.value, opened.account)) return undefined;
        // The account may have a pasted key, from before the service used
        // OAuth: that is no token.
        const other = found.value.oauth && await open(found);
        if (other && JSON.parse(other).accessToken === accessToken) {
          return undefined;
        }
      }
      return opened.tokens;
    },

    /** Seals tokens anew, if an old key sealed them. */
    async reseal(queued: Queued): Promise<boolean> {
      const { value } = queued;
      if (value.keyId === sealing.keyId) return true;
      const text = await sealing.unseal(value);
      if (text === undefined) return false;
      const record = { ...value, ...await sealing.seal(text) };
      return await database.replace(queued, record) !== undefined;
    },
  };
}
