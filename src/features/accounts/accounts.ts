/**
 * The records of people's accounts at other services. Only `account_vault.ts`
 * opens their keys.
 *
 * @module
 */
import type { BegunNeeds } from "../../core/mcp/exchange/needs.ts";
import type { Sealed } from "../../core/crypto/sealing.ts";
import type { Database, Entry, Found } from "../../core/kv/database.ts";
import { accountKey, rangeOf } from "../../core/kv/keys.ts";
import type { Leasable } from "../../core/kv/record_leases.ts";
import { newRevocationKey, queueRevocation } from "./revocation_record.ts";
import type { Write } from "../../core/kv/transaction.ts";

/** The number of records that are read, or deleted, at a time. */
const BATCH = 200;

/** The maximum number of accounts in whose place one account is used. */
const MAX_STANDS_IN_FOR = 5;

/** The last call that used an account. */
export interface AccountUse {
  client?: string;
  tool: string;
}

export interface AccountRecord extends Leasable, Sealed {
  subject: string;
  /** The name of the service. */
  service: string;
  /**
   * The name of the account, if it has one; unique where a person may have
   * several.
   */
  label?: string;
  /**
   * The account's former names: work that began under one of them goes on with
   * this account.
   */
  formerLabels?: readonly string[];
  /**
   * The fingerprint of the id that the service gives the account; it tells
   * accounts of the same name apart.
   */
  accountId?: string;
  /**
   * The accounts in whose place this one is used, because the person said so:
   * work that began with one of them before goes on with this one.
   */
  standsInFor?: readonly BegunNeeds[string][];
  /** The scopes that were asked for at the service. */
  scopes?: readonly string[];
  /** The scopes that the service said it granted; absent if it did not say. */
  given?: readonly string[];
  /** The origin of the API that a pasted key may be sent to. */
  api?: string;
  /**
   * The application that got the tokens, and the page on which the person
   * confirmed the account; absent for a pasted key.
   */
  oauth?: {
    /**
     * The name of our application at the service, {@linkcode AccountClient.id}.
     */
    application: string;
    /** The ID of the page on which the person confirmed the account. */
    confirmation?: string;
  };
  createdAt: number;
  usedAt?: number;
  usedBy?: AccountUse;
  /**
   * The time at which the service last refused the key or token; absent if the
   * service has accepted it since.
   */
  refusedAt?: number;
}

/** An account with its database key. */
export type PlacedAccount = Pick<Found<AccountRecord>, "key" | "value">;

/** An account as its person sees it: without its key. */
export type ListedAccount =
  & Omit<
    AccountRecord,
    | keyof Sealed
    | "leaseUntil"
    | "oauth"
    | "accountId"
    | "formerLabels"
    | "standsInFor"
  >
  & {
    /** The ID of the account in forms. */
    id: string;
    /**
     * The name of our application at the service; undefined for a pasted key.
     */
    application?: string;
  };

/** Returns the name of an account for models: `unnamed` if it has none. */
export function accountName(
  { label = "unnamed" }: Pick<AccountRecord, "label">,
): string {
  return label;
}

export type AccountStore = ReturnType<typeof accountStore>;

/**
 * Opens the store of account records. It cannot open their keys.
 *
 * @param revokeSoon called once tokens are in the queue of revocations
 */
export function accountStore(
  database: Database,
  revokeSoon: () => unknown = () => {},
) {
  /** Reads the accounts of a person. */
  function read(subject: string): Promise<Found<AccountRecord>[]> {
    return database.list<AccountRecord>(accountKey(subject));
  }

  async function forgetAt(key: Deno.KvKey): Promise<AccountRecord | undefined> {
    const gone = await database.change(
      key,
      (transaction, { key, value }: Entry<AccountRecord>) => {
        // This write fails a save that was given up, so that it cannot bring
        // the account back later.
        if (!value) return undefined;
        transaction.expire(key);
        queueRevocation(
          transaction,
          { key, value },
          newRevocationKey(database.now()),
        );
        return value;
      },
    );
    if (gone?.oauth) revokeSoon();
    return gone;
  }

  /** Changes an account, unless another was stored in its place. */
  function changeKept(
    { key, value: { createdAt } }: Found<AccountRecord>,
    change: (record: AccountRecord) => AccountRecord,
    extraWrites: Write = () => {},
  ): Promise<boolean> {
    return database.change(
      key,
      (transaction, entry: Entry<AccountRecord>, before) => {
        const { value, versionstamp } = entry;
        // The record is unchanged: one of the caller's checks has failed.
        if (versionstamp === before?.versionstamp) return false;
        if (value?.createdAt !== createdAt) return false;
        extraWrites(transaction);
        transaction.set(key, change(value));
        return true;
      },
    );
  }

  return {
    name: "accounts",

    read,

    /** Lists the accounts of a person, by service and name. */
    async listOf(subject: string): Promise<ListedAccount[]> {
      const found = await read(subject);
      return found.map(({ key, value }) => {
        const { sealed: _s, keyId: _k, leaseUntil: _l, oauth, ...rest } = value;
        const { accountId: _a, formerLabels: _f, standsInFor: _i, ...account } =
          rest;
        return {
          id: String(key.at(-1)),
          ...account,
          ...oauth && { application: oauth.application },
        };
      }).sort((a, b) =>
        `${a.service} ${a.label}` < `${b.service} ${b.label}` ? -1 : 1
      );
    },

    /**
     * Records that the service refuses the key of an account, or that it
     * accepts the key again. The key stays, because the service may have
     * refused only one resource.
     *
     * @returns false if the key is gone, or one of the caller's checks failed
     */
    noteRefusal: (
      found: Found<AccountRecord>,
      isRefused: boolean,
      extraWrites?: Write,
    ): Promise<boolean> =>
      changeKept(
        found,
        ({ refusedAt = database.now(), ...record }) =>
          isRefused ? { ...record, refusedAt } : record,
        extraWrites,
      ),

    /**
     * Records that an account is used in place of another: work that began with
     * the other goes on with this one.
     *
     * @returns as `noteRefusal`
     */
    standIn: (
      found: Found<AccountRecord>,
      begun: BegunNeeds[string],
      extraWrites: Write,
    ): Promise<boolean> =>
      changeKept(
        found,
        ({ standsInFor = [], ...record }) => {
          // The work may have begun in a process whose clock is ahead of ours.
          const at = Math.max(database.now(), begun.at);
          const all = [{ ...begun, at }, ...standsInFor];
          return { ...record, standsInFor: all.slice(0, MAX_STANDS_IN_FOR) };
        },
        extraWrites,
      ),

    /**
     * Deletes an account of a person, and returns its record; undefined if the
     * person has no such account.
     */
    forget: (subject: string, id: string) => forgetAt(accountKey(subject, id)),

    /** Deletes all accounts of a person, and returns their number. */
    async endAllOf(subject: string): Promise<number> {
      const found = await read(subject);
      for (const { key } of found) await forgetAt(key);
      await database.commit((transaction) =>
        transaction.delete(accountKey(subject))
      );
      return found.length;
    },

    /** Reads everyone's accounts, some at a time. */
    async *all(batch = BATCH): AsyncGenerator<Found<AccountRecord>[]> {
      const range = rangeOf(accountKey("").slice(0, 1));
      for await (
        const some of database.rangeInParts<AccountRecord>(range, batch)
      ) {
        // The head of a person's list is no account.
        yield some.filter(({ value }) => "sealed" in value);
      }
    },
  };
}
