/**
 * The keys of people's accounts at other services, sealed in their records.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { Sealing } from "../crypto/sealing.ts";
import { HttpError } from "../errors.ts";
import { accountSeals } from "./account_seals.ts";
import {
  type AccountRecord,
  accountStore,
  type AccountUse,
} from "./accounts.ts";
import type { Database, Entry, Expiring, Found } from "./database.ts";
import { accountKey } from "./keys.ts";
import { recent } from "./recent.ts";
import type { Write } from "./transaction.ts";

/** The most accounts of one person. */
export const MAX_ACCOUNTS = 50;

/** The time after which another use of an account is noted, in seconds. */
const NOTED_SECONDS = 60;

/** The place of an account: one a service, or one for each name of several. */
export interface AccountPlace {
  subject: string;
  service: string;
  label?: string;
  several?: boolean;
}

/** An account to keep, at its place. */
export interface NewAccount
  extends AccountPlace, Pick<AccountRecord, "oauth" | "scopes"> {}

function idOf({ service, label, several }: AccountPlace): string {
  return fingerprint(JSON.stringify([service, several ? label : ""]));
}

export type AccountVault = ReturnType<typeof accountVault>;

/** Opens the accounts with their keys. */
export function accountVault(
  database: Database,
  { sealing, idleSeconds = 0 }: {
    sealing: Sealing;
    /** The time without use after which an account is disconnected. */
    idleSeconds?: number;
  },
) {
  const store = accountStore(database);
  const { open, sealAnew, checkSeals } = accountSeals(sealing);
  const known = recent(store.read);
  /** The last note of a refusal that was begun. */
  let notes = Promise.resolve();
  /** The records whose use is noted since they were read. */
  const noted = new WeakSet<Found<AccountRecord>>();

  /** Seals the key of an account anew, if that was done with an old key. */
  async function reseal(found: Found<AccountRecord>): Promise<boolean> {
    if (found.value.keyId === sealing.keyId) return true;
    const key = await open(found);
    if (key === undefined) return false;
    const record = await sealAnew(found, key);
    return await database.replace(found, record) !== undefined;
  }

  /**
   * Keeps another key in an account, which is a use of it. Returns false if the
   * account was changed since.
   */
  async function replace(
    found: Found<AccountRecord>,
    key: string,
    changes?: Pick<AccountRecord, "refusedAt">,
  ): Promise<boolean> {
    const { leaseUntil: _, ...value } = await sealAnew(found, key);
    const expiresAt = database.now() + idleSeconds;
    const record = { ...value, expiresAt, ...changes };
    const isReplaced = await database.replace(found, record) !== undefined;
    known.forget(found.value.subject);
    return isReplaced;
  }

  return {
    ...store,
    replace,
    /** Names the key that seals from now on. */
    get keyId(): string {
      return sealing.keyId;
    },
    open,
    reseal,
    /** Begins to read the accounts of a person, which a call will need. */
    readAhead: known.readAhead,
    checkSeals,

    /** Finds the accounts of a person, at most a second stale. */
    async find(
      subject: string,
      isFresh = false,
    ): Promise<readonly Found<AccountRecord>[]> {
      if (isFresh) known.forget(subject);
      return await known.find(subject) ?? [];
    },

    /**
     * Keeps the key of an account, in place of the one that is there.
     *
     * @param extraWrites checks of the same commit: those of the browser's session
     * @returns the record that was there before; undefined if a check failed
     * @throws {HttpError} 409 when the person has too many accounts
     */
    async save(
      account: NewAccount,
      key: string,
      extraWrites: Write,
    ): Promise<Entry<AccountRecord> | undefined> {
      const { subject, service, label, oauth, scopes } = account;
      const at = accountKey(subject, idOf(account));
      // Every new account changes this record: so two at once cannot both pass
      // the limit.
      const headKey = accountKey(subject);
      const read = () =>
        database.getMany<[AccountRecord, Expiring]>([at, headKey]);
      for (;;) {
        const [entry, head] = await read();
        const { confirmation } = entry.value?.oauth ?? {};
        // The same form came twice: the tokens may have been refreshed since.
        if (confirmation && confirmation === oauth?.confirmation) return entry;
        const isNew = entry.value === undefined;
        const others = isNew ? await store.read(subject) : [];
        if (others.length >= MAX_ACCOUNTS) {
          throw new HttpError(
            409,
            `There are ${MAX_ACCOUNTS} accounts already: disconnect one first`,
          );
        }
        const createdAt = database.now();
        const record = await sealAnew({
          key: at,
          value: {
            subject,
            service,
            ...label !== undefined && { label },
            ...oauth !== undefined && { oauth, scopes },
            createdAt,
            expiresAt: createdAt + idleSeconds,
            sealed: "",
            keyId: "",
          },
        }, key);
        const isSaved = await database.commit((transaction) => {
          extraWrites(transaction.check(entry));
          transaction.set(at, record);
          if (!isNew) return;
          transaction.check(head)
            .set(headKey, { expiresAt: record.expiresAt });
        });
        known.forget(subject);
        if (isSaved) return entry;
        const [entryNow, headNow] = await read();
        const isUnchanged = entryNow.versionstamp === entry.versionstamp &&
          headNow.versionstamp === head.versionstamp;
        // Then it was another check that failed.
        if (isUnchanged) return undefined;
      }
    },

    /** Notes a refusal, or its end, in the background: one after another. */
    noteRefusalLater(found: Found<AccountRecord>, isRefused: boolean): void {
      database.background(() =>
        notes = notes.catch(() => {}).then(async () => {
          await store.noteRefusal(found, isRefused);
          known.forget(found.value.subject);
        })
      );
    },

    /**
     * Notes in the background that an account was used, at most once a minute,
     * which also keeps it from expiring, and seals its key anew if that is due.
     */
    noteUse(found: Found<AccountRecord>, usedBy: AccountUse): void {
      const { usedAt = 0, keyId } = found.value;
      const now = database.now();
      if (noted.has(found) || usedAt > now - NOTED_SECONDS) return;
      noted.add(found);
      database.background(async () => {
        const key = keyId === sealing.keyId ? undefined : await open(found);
        // A use is noted also where nothing can be sealed now.
        const record = key !== undefined && await sealAnew(found, key)
          .catch(() => undefined);
        await database.replace(found, {
          ...found.value,
          ...record,
          usedAt: now,
          usedBy,
          expiresAt: now + idleSeconds,
        });
      });
    },
  };
}
