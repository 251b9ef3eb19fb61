/**
 * The keys of people's accounts at other services. A key is sealed to its
 * record, so that no one who can write the database can move it under another
 * person's name.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { Sealing } from "../crypto/key_ring.ts";
import { HttpError } from "../errors.ts";
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

/**
 * Names a record for its seal: no key opens in another one, or under the name
 * of another account.
 */
function contextOf(
  { subject, service, label, oauth }: AccountRecord,
  key: Deno.KvKey,
) {
  const parts = ["account", subject, service, label, oauth?.application, key];
  return JSON.stringify(parts);
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
  const known = recent(store.read);
  /** The last note of a refusal that was begun. */
  let notes = Promise.resolve();
  /** The keys of records that are in memory, for as long as these are. */
  const opened = new WeakMap<object, Promise<string>>();
  /** The records whose use is noted since they were read. */
  const noted = new WeakSet<Found<AccountRecord>>();

  async function sealAnew(
    found: Pick<Found<AccountRecord>, "key" | "value">,
    key: string,
  ): Promise<AccountRecord> {
    const context = contextOf(found.value, found.key);
    return { ...found.value, ...await sealing.seal(key, context) };
  }

  /**
   * Opens the key of an account, once for each record that was read.
   *
   * @throws {Error} when it was sealed otherwise
   */
  function open(
    found: Pick<Found<AccountRecord>, "key" | "value">,
  ): Promise<string> {
    let key = opened.get(found);
    if (!key) {
      key = sealing.unseal(found.value, contextOf(found.value, found.key));
      opened.set(found, key);
      key.catch(() => opened.delete(found));
    }
    return key;
  }

  /** Seals the key of an account anew, if that was done with an old key. */
  async function reseal(found: Found<AccountRecord>): Promise<boolean> {
    if (found.value.keyId === sealing.keyId) return true;
    const record = await sealAnew(found, await open(found));
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
    keyId: sealing.keyId,
    open,
    reseal,
    /** Begins to read the accounts of a person, which a call will need. */
    readAhead: known.readAhead,

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
        const record = keyId === sealing.keyId
          ? found.value
          : await sealAnew(found, await open(found));
        await database.replace(found, {
          ...record,
          usedAt: now,
          usedBy,
          expiresAt: now + idleSeconds,
        });
      });
    },
  };
}
