/**
 * The store of people's accounts at other services, with their encrypted keys
 * and tokens.
 *
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";
import type { Sealing } from "../../core/crypto/sealing.ts";
import { HttpError } from "../../core/errors.ts";
import {
  type AccountReplacement,
  findReplaced,
  type NewAccount,
  newAccountKey,
} from "./begun_account.ts";
import {
  type AccountEntry,
  type AccountRecord,
  accountSeals,
  accountStore,
  type AccountUse,
} from "./accounts.ts";
import type {
  Database,
  Expiring,
  Found,
  Write,
} from "../../core/kv/database.ts";
import { accountKey } from "../../core/kv/keys.ts";
import { keepLease } from "../../core/kv/record_leases.ts";
import { recentReads } from "../../core/cache.ts";
import { revocationQueue } from "./revocation_queue.ts";
import {
  isOtherAccount,
  newRevocationKey,
  queueRevocation,
} from "./revocation_record.ts";

export const MAX_ACCOUNTS = 50;

/** The minimum seconds between two recorded uses of an account. */
const NOTED_SECONDS = 60;

export type AccountVault = ReturnType<typeof accountVault>;

/** Opens the account store, with encryption keys. */
export function accountVault(
  database: Database,
  { sealing, idleSeconds = 0, revokeSoon = () => {} }: {
    sealing: Sealing;
    /** The seconds without use after which an account is deleted. */
    idleSeconds?: number;
    /** Called when tokens were queued for revocation. */
    revokeSoon?(): unknown;
  },
) {
  const store = accountStore(database);
  const { open, opened, sealAnew, checkSeals } = accountSeals(sealing);
  const known = recentReads(store.read);
  const queue = revocationQueue(database);
  /** Settles when the last refusal is recorded. */
  let notes = Promise.resolve();
  /** The account records whose use was noted after they were read. */
  const noted = new WeakSet<Found<AccountRecord>>();

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

  /** Encrypts an account's key again if an old encryption key was used. */
  async function reseal(found: Found<AccountRecord>): Promise<boolean> {
    if (found.value.keyId === sealing.keyId) return true;
    const key = await open(found);
    if (key === undefined) return false;
    const record = await sealAnew({ ...found, value: keepLease(found) }, key);
    return await database.replace(found, record) !== undefined;
  }

  /**
   * Stores another key in an account, and records that the account was used.
   * Removes a recorded refusal unless `changes` has one. Returns false if the
   * account has changed since it was read.
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
    get keyId(): string {
      return sealing.keyId;
    },
    open,
    opened,
    reseal,
    /** Starts reading a person's accounts before a call needs them. */
    readAhead: known.readAhead,
    checkSeals,

    /**
     * Finds a person's accounts, as they were at most a second ago, often
     * without waiting.
     */
    find(
      subject: string,
      isFresh = false,
    ): MaybePromise<readonly Found<AccountRecord>[]> {
      if (isFresh) known.forget(subject);
      // Never undefined: the list may be empty.
      return known.find(subject) as MaybePromise<Found<AccountRecord>[]>;
    },

    /**
     * Stores an account in place of the one that it replaces. Tokens of a
     * different account are queued for revocation.
     *
     * @param extraWrites added to the commit: checks of the browser's session
     * @returns the replaced account and the new name; undefined if a check
     * failed
     * @throws {HttpError} 409 if the person has too many accounts
     */
    async save(
      account: NewAccount,
      key: string,
      extraWrites: Write,
    ): Promise<AccountReplacement | undefined> {
      const { subject, oauth } = account;
      const newKey = newAccountKey(account);
      // Every `save` changes this record, so two at once cannot both pass the
      // limit or take the same name.
      const headKey = accountKey(subject);
      let before: string | undefined;
      for (;;) {
        const [entry, head] = await database.getMany<
          [AccountRecord, Expiring]
        >([newKey, headKey]);
        const there = await store.read(subject);
        const { replaced, ...named } = findReplaced(there, account);
        const { confirmation } = replaced?.value.oauth ?? {};
        // The form was sent twice. The tokens stored first are kept, because
        // they may have been refreshed since.
        if (confirmation && confirmation === oauth?.confirmation) {
          return { label: replaced!.value.label };
        }
        const checked = replaced ?? entry;
        const read = JSON.stringify([
          head.versionstamp,
          checked.versionstamp,
          named,
        ]);
        // The records are unchanged, so a check in `extraWrites` failed.
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
     * @param afterSeconds the delay; storing the tokens in an account meanwhile
     * cancels the revocation
     * @returns the key of the queue entry
     */
    async revoke(
      account: NewAccount | AccountEntry,
      tokens: string,
      afterSeconds = 0,
    ): Promise<Deno.KvKey> {
      const key = "key" in account ? account.key : newAccountKey(account);
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

    /** Records that the service wants more scopes, before the next call. */
    async widen(...asked: Parameters<typeof store.widen>): Promise<boolean> {
      const isAsked = await store.widen(...asked);
      known.forget(asked[0].value.subject);
      return isAsked;
    },

    /** Records that the person declines to allow more, before the next call. */
    async declineWider(found: Found<AccountRecord>, tool: string) {
      if (!found.value.wider?.tools.includes(tool)) return;
      await store.declineWider(found, tool);
      known.forget(found.value.subject);
    },

    keeping: queue.keeping,
    /** Revokes queued tokens now, unless they were stored in an account. */
    revokeNow: (at: Deno.KvKey) => queue.hasten(at).then(revokeSoon),

    /**
     * Records in the background that the service refused an account, or accepts
     * it again.
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
     * used, which postpones its expiry. Encrypts its key again if an old
     * encryption key was used.
     */
    noteUse(found: Found<AccountRecord>, usedBy: AccountUse): void {
      const { usedAt = 0, keyId } = found.value;
      const now = database.now();
      if (noted.has(found) || usedAt > now - NOTED_SECONDS) return;
      noted.add(found);
      database.background(async () => {
        const key = keyId === sealing.keyId ? undefined : await open(found);
        // The use is recorded even if encryption fails now.
        const record = key !== undefined && await sealAnew(found, key)
          .catch(() => undefined);
        await database.replace(found, {
          ...keepLease(found),
          ...record,
          usedAt: now,
          usedBy,
          expiresAt: now + idleSeconds,
        });
      });
    },
  };
}
