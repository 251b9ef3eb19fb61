/**
 * The keys of people's accounts at other services, sealed in their records.
 *
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";
import type { Sealing } from "../../core/crypto/sealing.ts";
import { HttpError } from "../../core/errors.ts";
import {
  type AccountPlace,
  keyOf,
  type NewAccount,
  placeAmong,
} from "./account_place.ts";
import { accountSeals } from "./account_seals.ts";
import {
  type AccountRecord,
  accountStore,
  type AccountUse,
  type PlacedAccount,
} from "./accounts.ts";
import type { Database, Expiring, Found } from "../../core/kv/database.ts";
import { accountKey } from "../../core/kv/keys.ts";
import { recent } from "../../core/store/recent.ts";
import { revocationQueue } from "./revocation_queue.ts";
import {
  isOtherAccount,
  newRevocationKey,
  queueRevocation,
} from "./revocation_record.ts";
import type { Write } from "../../core/kv/transaction.ts";

/** The maximum number of accounts of one person. */
export const MAX_ACCOUNTS = 50;

/** The minimum time between two recorded uses of an account, in seconds. */
const NOTED_SECONDS = 60;

export type AccountVault = ReturnType<typeof accountVault>;

/** Opens the accounts with their keys. */
export function accountVault(
  database: Database,
  { sealing, idleSeconds = 0, revokeSoon = () => {} }: {
    sealing: Sealing;
    /** The time without use after which an account is disconnected. */
    idleSeconds?: number;
    /** Called once tokens are in the queue of revocations. */
    revokeSoon?(): unknown;
  },
) {
  const store = accountStore(database);
  const { open, opened, sealAnew, checkSeals } = accountSeals(sealing);
  const known = recent(store.read);
  const queue = revocationQueue(database);
  /** Settles once the last refusal is recorded. */
  let notes = Promise.resolve();
  /** The records whose use was recorded after they were read. */
  const noted = new WeakSet<Found<AccountRecord>>();

  /** Makes the record of a new account. */
  function sealNew(
    { several: _, ...account }: NewAccount & Partial<AccountRecord>,
    text: string,
    key: Deno.KvKey,
  ): Promise<AccountRecord> {
    const createdAt = database.now();
    const expiresAt = createdAt + idleSeconds;
    const unsealed = { sealed: "", keyId: "" };
    const value = { ...account, createdAt, expiresAt, ...unsealed };
    return sealAnew({ key, value }, text);
  }

  /** Seals the key of an account anew, if an old key sealed it. */
  async function reseal(found: Found<AccountRecord>): Promise<boolean> {
    if (found.value.keyId === sealing.keyId) return true;
    const key = await open(found);
    if (key === undefined) return false;
    const record = await sealAnew(found, key);
    return await database.replace(found, record) !== undefined;
  }

  /**
   * Stores another key in an account. That counts as a use, and ends a recorded
   * refusal unless `changes` has one. Returns false if the account was changed
   * since it was read.
   */
  async function replace(
    found: Found<AccountRecord>,
    key: string,
    changes?: Partial<Pick<AccountRecord, "refusedAt" | "given">>,
  ): Promise<boolean> {
    const { leaseUntil: _, ...value } = await sealAnew(found, key);
    const expiresAt = database.now() + idleSeconds;
    const record = { ...value, expiresAt, refusedAt: undefined, ...changes };
    const isReplaced = await database.replace(found, record) !== undefined;
    known.forget(found.value.subject);
    return isReplaced;
  }

  return {
    ...store,
    replace,
    /** The ID of the key that seals from now on. */
    get keyId(): string {
      return sealing.keyId;
    },
    open,
    opened,
    reseal,
    /** Begins to read the accounts of a person, before a call needs them. */
    readAhead: known.readAhead,
    checkSeals,

    /**
     * Finds the accounts of a person, at most a second stale, and often without
     * waiting.
     */
    find(
      subject: string,
      isFresh = false,
    ): MaybePromise<readonly Found<AccountRecord>[]> {
      if (isFresh) known.forget(subject);
      // The list is always found, though it may be empty.
      return known.find(subject) as MaybePromise<Found<AccountRecord>[]>;
    },

    /**
     * Stores the key of an account in place of the present one. If the present
     * key is another account's, its tokens will be revoked.
     *
     * @param extraWrites checks of the same commit: those of the browser's
     * session
     * @returns the account's place; undefined if a check failed
     * @throws {HttpError} 409 when the person has too many accounts
     */
    async save(
      account: NewAccount,
      key: string,
      extraWrites: Write,
    ): Promise<AccountPlace | undefined> {
      const { subject, oauth } = account;
      const newKey = keyOf(account);
      // Every `save` changes this record. So two at once cannot both pass the
      // limit, or take the same name.
      const headKey = accountKey(subject);
      let before: string | undefined;
      for (;;) {
        const [entry, head] = await database.getMany<
          [AccountRecord, Expiring]
        >([newKey, headKey]);
        const there = await store.read(subject);
        const { replaced, ...named } = placeAmong(there, account);
        const { confirmation } = replaced?.value.oauth ?? {};
        // The same form came twice. The tokens may have been refreshed since,
        // so those that were stored first stay.
        if (confirmation && confirmation === oauth?.confirmation) {
          return { label: replaced!.value.label };
        }
        const checked = replaced ?? entry;
        const read = JSON.stringify([
          head.versionstamp,
          checked.versionstamp,
          named,
        ]);
        // Nothing has changed since: another check of the commit has failed.
        if (read === before) return undefined;
        before = read;
        if (!replaced && there.length >= MAX_ACCOUNTS) {
          throw new HttpError(
            409,
            `There are ${MAX_ACCOUNTS} accounts already: disconnect one first`,
          );
        }
        const at = checked.key;
        const record = await sealNew({ ...account, ...named }, key, at);
        const isSaved = await database.commit((transaction) => {
          extraWrites(transaction.check(checked).check(head));
          transaction.set(at, record)
            .set(headKey, { expiresAt: record.expiresAt });
          if (replaced && isOtherAccount(replaced.value, account)) {
            const now = newRevocationKey(record.createdAt);
            queueRevocation(transaction, replaced, now);
          }
        });
        known.forget(subject);
        if (isSaved) {
          if (replaced?.value.oauth) revokeSoon();
          return { replaced, ...named };
        }
      }
    },

    /**
     * Queues the revocation of tokens that are in no account.
     *
     * @param account the account that the tokens were for
     * @param afterSeconds the time until the revocation, which is dropped if
     * the tokens are kept meanwhile
     * @returns the key of the queue's entry
     */
    async revoke(
      account: NewAccount | PlacedAccount,
      tokens: string,
      afterSeconds = 0,
    ): Promise<Deno.KvKey> {
      const key = "key" in account ? account.key : keyOf(account);
      const value = "key" in account
        ? await sealAnew(account, tokens)
        : await sealNew(account, tokens, key);
      const at = newRevocationKey(database.now() + afterSeconds);
      await database.commit((transaction) =>
        queueRevocation(transaction, { key, value }, at)
      );
      revokeSoon();
      return at;
    },

    keeping: queue.keeping,
    /** Revokes queued tokens now instead of later, unless they are kept. */
    revokeNow: (at: Deno.KvKey) => queue.hasten(at).then(revokeSoon),

    /**
     * Records a refusal, or its end, in the background: one record after
     * another.
     */
    noteRefusalLater(found: Found<AccountRecord>, isRefused: boolean): void {
      database.background(() =>
        notes = notes.catch(() => {}).then(async () => {
          await store.noteRefusal(found, isRefused);
          known.forget(found.value.subject);
        })
      );
    },

    /**
     * Records in the background, at most once a minute, that an account was
     * used: that also keeps the account from expiring. Seals the account's key
     * anew if an old key sealed it.
     */
    noteUse(found: Found<AccountRecord>, usedBy: AccountUse): void {
      const { usedAt = 0, keyId } = found.value;
      const now = database.now();
      if (noted.has(found) || usedAt > now - NOTED_SECONDS) return;
      noted.add(found);
      database.background(async () => {
        const key = keyId === sealing.keyId ? undefined : await open(found);
        // The use is recorded even if nothing can be sealed now.
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
