/**
 * The queue of tokens to revoke. One process at a time tries each entry; if it
 * dies or the service does not respond, another tries later.
 *
 * @module
 */
import type { Sealing } from "../../core/crypto/sealing.ts";
import { type AccountRecord, accountSeals } from "./accounts.ts";
import type { Database, Found, Write } from "../../core/kv/database.ts";
import { revocationKey } from "../../core/kv/keys.ts";
import { isOtherAccount, type RevocationRecord } from "./revocation_record.ts";

/** The seconds after which another process may try. */
const LEASE_SECONDS = 40;

/** The pause before the second try, which doubles with each try. */
const FIRST_PAUSE_SECONDS = 60;
const MAX_PAUSE_SECONDS = 60 * 60;

const BATCH = 20;

type Queued = Found<RevocationRecord>;

/** Opens the queue. It does not decrypt the tokens in it. */
export function revocationQueue(database: Database) {
  /**
   * Moves an entry to another time. Undefined if another process was faster.
   */
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
    /** Reads the entries until a time, in batches. */
    read: (untilSeconds = database.now()): AsyncGenerator<Queued[]> =>
      database.rangeInParts<RevocationRecord>(
        { start: revocationKey(0), end: revocationKey(untilSeconds + 1) },
        BATCH,
      ),

    /** Takes an entry for this process. Undefined if another has it. */
    take: (found: Queued) =>
      move(found, database.now() + LEASE_SECONDS, found.value.tries + 1),

    /**
     * Postpones a revocation. Returns false if its record expires before the
     * next try.
     */
    async putOff(taken: Queued): Promise<boolean> {
      const { tries, expiresAt } = taken.value;
      const pause = FIRST_PAUSE_SECONDS * 2 ** (tries - 1);
      const next = database.now() + Math.min(pause, MAX_PAUSE_SECONDS);
      if (next >= expiresAt) return false;
      await move(taken, next, tries);
      return true;
    },

    /** Moves an entry to the front of the queue. */
    async hasten(key: Deno.KvKey): Promise<void> {
      const found = await database.find<RevocationRecord>(key);
      if (found) await move(found, database.now(), found.value.tries);
    },

    /**
     * Makes the write that deletes an entry because an account gets the entry's
     * tokens. Undefined if their revocation has begun.
     */
    async keeping(key: Deno.KvKey): Promise<Write | undefined> {
      const found = await database.find(key);
      return found &&
        ((transaction) => void transaction.check(found).delete(key));
    },

    async drop(taken: Queued): Promise<void> {
      await database.commit((transaction) =>
        transaction.check(taken).delete(taken.key)
      );
    },
  };
}

/** Makes the functions that decrypt and re-encrypt the queue's tokens. */
export function queuedTokens(database: Database, sealing: Sealing) {
  const { open, openTokens } = accountSeals(sealing);

  return {
    /**
     * Decrypts the tokens to revoke. Undefined if they must not be revoked: the
     * person has a connected account that may be the deleted one, or that uses
     * the same token.
     *
     * @throws {Error} if that cannot be known, or no key decrypts the tokens
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
        // A pasted key, from before the service used OAuth, is no token.
        const other = found.value.oauth && await open(found);
        if (other && JSON.parse(other).accessToken === accessToken) {
          return undefined;
        }
      }
      return opened.tokens;
    },

    /** Encrypts tokens again if an old key encrypted them. */
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
