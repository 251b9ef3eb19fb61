/**
 * People's passkeys, with which they approve calls (WebAuthn Level 3). All
 * passkeys of a person are in one record. So if an approval and a change of the
 * passkeys come at the same time, only one succeeds.
 *
 * @module
 */
import type { PersonRecords } from "../../core/auth/grants/end_grant.ts";
import type { Database, Expiring, Write } from "../../core/kv/database.ts";
import { passkeysGoneKey, passkeysKey } from "../../core/kv/keys.ts";

/** The seconds for which passkeys are stored after their last use. */
export const PASSKEYS_SECONDS = 366 * 24 * 60 * 60;

/**
 * The seconds before a person's second or later passkey can approve. For as
 * long after the removal of a passkey, approvals need a passkey, even if the
 * person has none left. So someone who gets hold of a browser cannot take over
 * at once.
 */
const DELAY_SECONDS = 24 * 60 * 60;

/**
 * The maximum number of a person's passkeys, including those removed in the
 * last day.
 */
const MAX_PASSKEYS = 20;

/** The COSE algorithms that are offered: EdDSA, ES256 and RS256. */
export const ALGORITHMS = [-8, -7, -257];

/** Times are epoch seconds. */
export interface Passkey {
  /** The credential ID, in base64url. */
  id: string;
  /** The public key in COSE (RFC 9052), in base64url. */
  publicKey: string;
  /** The authenticator's signature counter; 0 if it has none. */
  counter: number;
  name: string;
  createdAt: number;
  /** The time from which the passkey can approve. */
  countsFrom: number;
  usedAt?: number;
  removedAt?: number;
}

interface PasskeysRecord extends Expiring {
  passkeys: readonly Passkey[];
}

function isThere({ removedAt }: Passkey): boolean {
  return removedAt === undefined;
}

function counts(passkey: Passkey, now: number): boolean {
  return isThere(passkey) && passkey.countsFrom <= now;
}

/** The passkeys of a person, all from one read of the database. */
export interface OwnPasskeys {
  /** The passkeys that were not removed, the newest last. */
  own: Passkey[];
  /** The passkeys with which the person can approve now. */
  usable: Passkey[];
  /**
   * True if the person has a passkey, even one that cannot approve yet, or if
   * the last one was removed or erased within a day.
   */
  hasAny: boolean;
  /**
   * The time from which the first of the passkeys can approve, in epoch
   * seconds.
   */
  from?: number;
  /** Makes a commit fail if the passkeys have changed since they were read. */
  stays: Write;
  /**
   * Makes the write that records a passkey's use, and makes the commit fail if
   * the passkeys have changed. Undefined if the passkey cannot approve now, or
   * its signature counter did not increase.
   */
  noting(use: { id: string; counter: number }): Write | undefined;
}

export function passkeyStore(database: Database) {
  /** Returns the passkeys, except those removed more than a day ago. */
  function remaining(record?: PasskeysRecord): readonly Passkey[] {
    const since = database.now() - DELAY_SECONDS;
    return record?.passkeys.filter(({ removedAt = Infinity }) =>
      removedAt > since
    ) ?? [];
  }

  /** Reads a person's passkeys, and whether they were erased. */
  async function read(subject: string) {
    const [own, gone] = await database.getMany<[PasskeysRecord, Expiring]>([
      passkeysKey(subject),
      passkeysGoneKey(subject),
    ]);
    const all = remaining(own.value ?? undefined);
    return { own, gone, all, hasAny: all.length > 0 || Boolean(gone.value) };
  }

  /**
   * Changes the passkeys of a person. Returns undefined if a check of
   * `extraWrites` fails.
   */
  async function change<R>(
    subject: string,
    extraWrites: Write,
    update: (passkeys: readonly Passkey[], hasAny: boolean) => {
      result: R;
      passkeys?: readonly Passkey[];
    },
  ): Promise<R | undefined> {
    let before: string | null | undefined;
    for (;;) {
      const { own, gone, all, hasAny } = await read(subject);
      // The record is unchanged: another check has failed.
      if (own.versionstamp === before) return undefined;
      before = own.versionstamp;
      const { result, passkeys } = update(all, hasAny);
      if (!passkeys) return result;
      const expiresAt = database.now() + PASSKEYS_SECONDS;
      const isDone = await database.commit((transaction) =>
        extraWrites(
          transaction.check(own, gone)
            .set(passkeysKey(subject), { passkeys, expiresAt }),
        )
      );
      if (isDone) return result;
    }
  }

  return {
    async find(subject: string): Promise<OwnPasskeys> {
      const { all, hasAny, own: record, gone } = await read(subject);
      const now = database.now();
      const own = all.filter(isThere);
      return {
        own,
        usable: own.filter((passkey) => counts(passkey, now)),
        hasAny,
        from: own.length > 0
          ? Math.min(...own.map(({ countsFrom }) => countsFrom))
          : undefined,
        stays: (transaction) => transaction.check(record, gone),
        noting(use) {
          const now = database.now();
          const passkeys = used(all, use, now);
          const expiresAt = now + PASSKEYS_SECONDS;
          return passkeys && ((transaction) =>
            transaction.check(record)
              .set(passkeysKey(subject), { passkeys, expiresAt }));
        },
      };
    },

    /**
     * Stores a new passkey. A person's first passkey can approve at once, a
     * further one after a day.
     *
     * @returns the passkey; undefined if it is already stored, if there are too
     * many, or a check of `extraWrites` failed
     */
    async add(
      subject: string,
      made: Pick<Passkey, "id" | "publicKey" | "counter" | "name">,
      extraWrites: Write,
    ): Promise<Passkey | undefined> {
      return await change(subject, extraWrites, (all, hasAny) => {
        const now = database.now();
        const isFull = all.length >= MAX_PASSKEYS;
        if (isFull || all.some(({ id }) => id === made.id)) {
          return { result: undefined };
        }
        const { id, publicKey, counter, name } = made;
        const countsFrom = hasAny ? now + DELAY_SECONDS : now;
        const createdAt = now;
        const passkey = { id, publicKey, counter, name, createdAt, countsFrom };
        return { result: passkey, passkeys: [...all, passkey] };
      });
    },

    /**
     * Lets a new passkey approve at once, because an older one was used.
     *
     * @returns the passkey; undefined if there is none, or a check failed
     */
    async confirm(
      subject: string,
      id: string,
      use: { id: string; counter: number },
      extraWrites: Write,
    ): Promise<Passkey | undefined> {
      return await change(subject, extraWrites, (all) => {
        const now = database.now();
        const after = used(all, use, now);
        const waiting = after?.find((it) =>
          it.id === id && isThere(it) && it.countsFrom > now
        );
        if (!after || !waiting) return { result: undefined };
        const confirmed = { ...waiting, countsFrom: now };
        return { result: confirmed, passkeys: withOne(after, confirmed) };
      });
    },

    /** Removes a passkey, and returns it. Undefined if there is none. */
    async remove(
      subject: string,
      id: string,
      extraWrites: Write,
    ): Promise<Passkey | undefined> {
      return await change(subject, extraWrites, (all) => {
        const found = all.find((it) => it.id === id && isThere(it));
        if (!found) return { result: undefined };
        const removed = { ...found, removedAt: database.now() };
        return { result: removed, passkeys: withOne(all, removed) };
      });
    },

    /**
     * Deletes all passkeys of a person. A new passkey can approve only after a
     * day. Otherwise someone at the person's browser could erase the passkeys,
     * and approve with a new one.
     */
    async forgetAllOf(subject: string): Promise<void> {
      const { own, all } = await read(subject);
      if (!own.value) return;
      const expiresAt = database.now() + DELAY_SECONDS;
      await database.commit((transaction) => {
        if (all.length > 0) {
          transaction.set(passkeysGoneKey(subject), { expiresAt });
        }
        transaction.expire(passkeysKey(subject));
      });
    },

    /**
     * Deletes all passkeys of a person, for an operator. The next one can
     * approve at once.
     *
     * @returns the number of deleted passkeys
     */
    async reset(subject: string): Promise<number> {
      const { all } = await read(subject);
      await database.commit((transaction) =>
        transaction.expire(passkeysKey(subject))
          .expire(passkeysGoneKey(subject))
      );
      return all.filter(isThere).length;
    },
  };
}

/** Replaces the passkey that has the same ID. */
const withOne = (all: readonly Passkey[], changed: Passkey) =>
  all.map((it) => it.id === changed.id ? changed : it);

/**
 * Records a use. Undefined if the passkey cannot approve now, or its signature
 * counter did not increase.
 */
function used(
  all: readonly Passkey[],
  { id, counter }: { id: string; counter: number },
  now: number,
): readonly Passkey[] | undefined {
  const found = all.find((it) => it.id === id && counts(it, now));
  // A counter that goes back belongs to a copied passkey (WebAuthn Level 3
  // §6.1.1).
  const isNewer = found &&
    (counter > found.counter || counter === 0 && found.counter === 0);
  if (!isNewer) return undefined;
  return withOne(all, { ...found, counter, usedAt: now });
}

/** People's passkeys as records about them, without IDs and public keys. */
export function passkeyRecords(database: Database): PersonRecords {
  const { find, forgetAllOf } = passkeyStore(database);
  return {
    name: "passkeys",
    async listOf(subject) {
      const { own } = await find(subject);
      return own.map(({ id: _, publicKey: __, counter: ___, ...passkey }) =>
        passkey
      );
    },
    // Passkeys open nothing by themselves, so they are kept until the person is
    // erased.
    endAllOf: () => Promise.resolve(),
    forgetAllOf,
  };
}
