/**
 * The passkeys of people, with which they approve calls (WebAuthn Level 3). All
 * of one person's are in one record, so that the press that uses one and what
 * changes them exclude each other.
 *
 * @module
 */
import type { PersonRecords } from "../../core/auth/grants/end_grant.ts";
import type { Database, Expiring } from "../../core/kv/database.ts";
import { passkeysKey } from "../../core/kv/keys.ts";
import type { Write } from "../../core/kv/transaction.ts";

/** The seconds after their last use for which passkeys are kept. */
export const PASSKEYS_SECONDS = 366 * 24 * 60 * 60;

/**
 * The seconds after which a further passkey counts, and for which a removed one
 * still counts as there. Who gets hold of a browser cannot take over at once.
 */
const DELAY_SECONDS = 24 * 60 * 60;

/** The most passkeys of a person, with those removed in the last day. */
const MAX_PASSKEYS = 20;

/** The COSE algorithms that are offered: EdDSA, ES256 and RS256. */
export const ALGORITHMS = [-8, -7, -257];

/** A passkey. Times are epoch seconds. */
export interface Passkey {
  /** The credential ID, in base64url. */
  id: string;
  /** The public key as COSE (RFC 9052), in base64url. */
  publicKey: string;
  /** The signatures that its authenticator has counted; 0 if it does not. */
  counter: number;
  name: string;
  createdAt: number;
  /** The time from which it counts. */
  countsFrom: number;
  usedAt?: number;
  removedAt?: number;
}

interface PasskeysRecord extends Expiring {
  passkeys: readonly Passkey[];
}

/** True of a passkey that can approve now. */
function counts({ removedAt, countsFrom }: Passkey, now: number): boolean {
  return removedAt === undefined && countsFrom <= now;
}

export type PasskeyStore = ReturnType<typeof passkeyStore>;

export function passkeyStore(database: Database) {
  /** Leaves out passkeys that were removed more than a day ago. */
  function remaining(record?: PasskeysRecord): readonly Passkey[] {
    const since = database.now() - DELAY_SECONDS;
    return record?.passkeys.filter(({ removedAt = Infinity }) =>
      removedAt > since
    ) ?? [];
  }

  /** Changes the passkeys of a person, if they were not changed meanwhile. */
  async function change<R>(
    subject: string,
    extraWrites: Write,
    update: (passkeys: readonly Passkey[]) => {
      result: R;
      passkeys?: readonly Passkey[];
    },
  ): Promise<R | undefined> {
    return await database.change<PasskeysRecord, R | undefined>(
      passkeysKey(subject),
      (transaction, { key, value, versionstamp }, before) => {
        // The record is unchanged: a check of `extraWrites` has failed.
        if (before && versionstamp === before.versionstamp) return undefined;
        const { result, passkeys } = update(remaining(value));
        if (passkeys) {
          const expiresAt = database.now() + PASSKEYS_SECONDS;
          transaction.set(key, { passkeys, expiresAt });
          extraWrites(transaction);
        }
        return result;
      },
    );
  }

  async function listAll(subject: string): Promise<readonly Passkey[]> {
    const found = await database.find<PasskeysRecord>(passkeysKey(subject));
    return remaining(found?.value);
  }

  return {
    /** Lists the passkeys of a person, the newest last. */
    async listOf(subject: string): Promise<Passkey[]> {
      const all = await listAll(subject);
      return all.filter(({ removedAt }) => removedAt === undefined);
    },

    /**
     * Finds what a person can approve with now.
     *
     * @returns `hasAny` is true too while none counts yet, or the last one was
     * removed within a day
     */
    async usable(
      subject: string,
    ): Promise<{ hasAny: boolean; usable: Passkey[]; from?: number }> {
      const all = await listAll(subject);
      const now = database.now();
      const usable = all.filter((passkey) => counts(passkey, now));
      const coming = all.filter(({ removedAt }) => removedAt === undefined);
      return {
        hasAny: all.length > 0,
        usable,
        from: coming.length > 0
          ? Math.min(...coming.map(({ countsFrom }) => countsFrom))
          : undefined,
      };
    },

    /**
     * Keeps a new passkey. A person's first counts at once, a further one after a
     * day, unless it was made with one that counts.
     *
     * @returns undefined if it is there already, there is no room, or a check of
     * `extraWrites` failed
     */
    async add(
      subject: string,
      made: Pick<Passkey, "id" | "publicKey" | "counter" | "name">,
      extraWrites: Write,
      voucher?: { id: string; counter: number },
    ): Promise<Passkey | undefined> {
      return await change(subject, extraWrites, (all) => {
        const now = database.now();
        const vouching = voucher && used(all, voucher, now);
        if (voucher && !vouching) return { result: undefined };
        const isFull = all.length >= MAX_PASSKEYS;
        if (isFull || all.some(({ id }) => id === made.id)) {
          return { result: undefined };
        }
        const waits = all.length > 0 && !vouching;
        const { id, publicKey, counter, name } = made;
        const countsFrom = waits ? now + DELAY_SECONDS : now;
        const createdAt = now;
        const passkey = { id, publicKey, counter, name, createdAt, countsFrom };
        return { result: passkey, passkeys: [...vouching ?? all, passkey] };
      });
    },

    /** Removes a passkey. Returns it; undefined if it is not there. */
    async remove(
      subject: string,
      id: string,
      extraWrites: Write,
    ): Promise<Passkey | undefined> {
      return await change(subject, extraWrites, (all) => {
        const found = all.find((it) =>
          it.id === id && it.removedAt === undefined
        );
        if (!found) return { result: undefined };
        const removed = { ...found, removedAt: database.now() };
        return {
          result: removed,
          passkeys: all.map((it) => it.id === id ? removed : it),
        };
      });
    },

    /**
     * Makes a write that notes the use of a passkey. Its commit fails if the
     * passkeys of the person were changed meanwhile.
     *
     * @returns undefined if it does not count now, or was used with this counter
     */
    async use(
      subject: string,
      use: { id: string; counter: number },
    ): Promise<Write | undefined> {
      const key = passkeysKey(subject);
      const found = await database.find<PasskeysRecord>(key);
      const passkeys = used(remaining(found?.value), use, database.now());
      if (!found || !passkeys) return undefined;
      const expiresAt = database.now() + PASSKEYS_SECONDS;
      return (transaction) =>
        transaction.check(found).set(key, { passkeys, expiresAt });
    },

    /** Deletes all passkeys of a person, as if there had been none. */
    async forgetAllOf(subject: string): Promise<number> {
      return await database.change<PasskeysRecord, number>(
        passkeysKey(subject),
        (transaction, { key, value }) => {
          if (value) transaction.expire(key);
          return value?.passkeys.length ?? 0;
        },
      );
    },
  };
}

/** Notes a use. Returns undefined for a passkey or a counter that is no good. */
function used(
  all: readonly Passkey[],
  { id, counter }: { id: string; counter: number },
  now: number,
): readonly Passkey[] | undefined {
  const found = all.find((it) => it.id === id && counts(it, now));
  // A counter that goes back is a copy's (WebAuthn Level 3 §6.1.1).
  const isNewer = found &&
    (counter > found.counter || counter === 0 && found.counter === 0);
  if (!isNewer) return undefined;
  const usedNow = { ...found, counter, usedAt: now };
  return all.map((it) => it.id === id ? usedNow : it);
}

/** The passkeys of people, without their keys. */
export function passkeyRecords(
  { listOf, forgetAllOf }: Pick<PasskeyStore, "listOf" | "forgetAllOf">,
): PersonRecords {
  return {
    name: "passkeys",
    async listOf(subject) {
      const all = await listOf(subject);
      return all.map(({ publicKey: _, ...passkey }) => passkey);
    },
    endAllOf: async (subject) => void await forgetAllOf(subject),
  };
}
