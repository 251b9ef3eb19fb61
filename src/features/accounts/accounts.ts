/**
 * The records of people's accounts at other services, and the encryption of
 * their keys. Each key is bound to its record, so that someone who can write to
 * the database cannot give it to another person. Only `account_vault.ts`
 * decrypts keys and tokens.
 *
 * @module
 */
import type { BegunNeeds } from "../../core/mcp/exchange/needs.ts";
import type { Sealed, Sealing } from "../../core/crypto/sealing.ts";
import {
  type Database,
  type Entry,
  type Found,
  isFound,
  type Write,
} from "../../core/kv/database.ts";
import { accountKey, rangeOf } from "../../core/kv/keys.ts";
import { keepLease, type Leasable } from "../../core/kv/record_leases.ts";
import {
  type KnownAccount,
  newRevocationKey,
  queueRevocation,
} from "./revocation_record.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";

const BATCH = 200;

/** The maximum number of accounts that one account replaces. */
const MAX_STANDS_IN_FOR = 5;

/** The maximum length in characters of the scopes that a service wants. */
const MAX_WIDER_CHARACTERS = 1000;

/** The maximum number of tools that an account's record names. */
const MAX_TOOLS = 20;

/** The last call that used an account. */
export interface AccountUse {
  client?: string;
  tool: string;
}

export interface AccountRecord extends Leasable, Sealed {
  subject: string;
  service: string;
  /**
   * The account's name, if known; unique if a person may have several accounts
   * at the service.
   */
  label?: string;
  /** Former names, by which earlier calls and tasks find the account. */
  formerLabels?: readonly string[];
  /**
   * The fingerprint of the account's ID at the service. It distinguishes
   * accounts of the same name.
   */
  accountId?: string;
  /**
   * The accounts that this one replaces, as the person chose. Calls and tasks
   * that began with one of them now use this one.
   */
  standsInFor?: readonly BegunNeeds[string][];
  /** The requested scopes; undefined for a pasted key. */
  scopes?: readonly string[];
  /** The granted scopes, if the service reported them. */
  given?: readonly string[];
  /**
   * The scopes that the service wanted in addition to the author's, the tools
   * whose calls it refused since they were last requested, and the tools for
   * whose calls the person declined to allow them.
   */
  wider?: {
    scopes: readonly string[];
    tools: readonly string[];
    declined?: readonly string[];
  };
  /** The only API origin to which a pasted key is sent. */
  api?: string;
  /** The data of OAuth tokens; absent for a pasted key. */
  oauth?: {
    /** Our client registration at the service: {@linkcode AccountClient.id}. */
    application: string;
    /** The ID of the page on which the person confirmed the account. */
    confirmation?: string;
  };
  createdAt: number;
  usedAt?: number;
  usedBy?: AccountUse;
  /**
   * The time at which the service last refused the key or token; absent once
   * the service accepts it again.
   */
  refusedAt?: number;
}

/** An account's record with its database key. */
export type AccountEntry = Pick<Found<AccountRecord>, "key" | "value">;

/** An account as its person sees it, without secrets. */
export type ListedAccount =
  & Omit<
    AccountRecord,
    | keyof Sealed
    | "leaseUntil"
    | "leaseMark"
    | "oauth"
    | "accountId"
    | "formerLabels"
    | "standsInFor"
  >
  & {
    /** The account's ID in forms. */
    id: string;
    /**
     * Our client registration at the service, if the account has OAuth tokens.
     */
    application?: string;
  };

/** Returns an account's name for models. */
export function accountName(
  { label = "unnamed" }: Pick<AccountRecord, "label">,
): string {
  return label;
}

export type AccountStore = ReturnType<typeof accountStore>;

/**
 * Opens the store of account records. It does not decrypt the keys in them.
 *
 * @param revokeSoon called when tokens were queued for revocation
 */
export function accountStore(
  database: Database,
  revokeSoon: () => unknown = () => {},
) {
  function read(subject: string): Promise<Found<AccountRecord>[]> {
    return database.list<AccountRecord>(accountKey(subject));
  }

  async function forgetAt(key: Deno.KvKey): Promise<AccountRecord | undefined> {
    const gone = await database.change(
      key,
      (transaction, { key, value }: Entry<AccountRecord>) => {
        // Replaced by an expired record: a save that was given up may be
        // applied later. It then fails, and does not restore the account.
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

  /** Changes an account, unless it was replaced by another. */
  function changeKept(
    { key, value: { createdAt } }: Found<AccountRecord>,
    change: (record: AccountRecord) => AccountRecord,
    extraWrites: Write = () => {},
  ): Promise<boolean> {
    return database.change(
      key,
      (transaction, entry: Entry<AccountRecord>, before) => {
        // The record is unchanged, so a check in `extraWrites` failed.
        if (entry.versionstamp === before?.versionstamp) return false;
        if (!isFound(entry) || entry.value.createdAt !== createdAt) {
          return false;
        }
        extraWrites(transaction);
        transaction.set(key, change(keepLease(entry)));
        return true;
      },
    );
  }

  return {
    name: "accounts",

    read,

    async listOf(subject: string): Promise<ListedAccount[]> {
      const found = await read(subject);
      return found.map(({ key, value }) => {
        const { sealed: _s, keyId: _k, oauth, ...rest } = value;
        const { accountId: _a, formerLabels: _f, standsInFor: _i, ...listed } =
          rest;
        const { leaseUntil: _l, leaseMark: _m, ...account } = listed;
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
     * Records that the service refuses an account's key, or accepts it again.
     * The key is kept: perhaps only one resource was refused.
     *
     * @returns false if the account is gone or a check in `extraWrites` failed
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
     * Records that the service wants more scopes for the calls of a tool. False
     * if the person need not be asked for them.
     */
    async widen(
      found: Found<AccountRecord>,
      wanted: readonly string[],
      tool: string,
    ): Promise<boolean> {
      if (!widerScopes(found.value, wanted, tool)) return false;
      // If the account was replaced meanwhile, the next call uses the new one.
      await changeKept(found, (record) => ({
        ...record,
        wider: widerScopes(record, wanted, tool) ?? record.wider,
      }));
      return true;
    },

    /** Records that the person declines to allow more for the calls of a tool. */
    declineWider: (
      found: Found<AccountRecord>,
      tool: string,
    ): Promise<boolean> =>
      changeKept(found, (record) => {
        if (!record.wider?.tools.includes(tool)) return record;
        const { scopes, tools, declined = [] } = record.wider;
        return {
          ...record,
          wider: {
            scopes,
            tools: tools.filter((it) => it !== tool),
            declined: [...new Set([tool, ...declined])].slice(0, MAX_TOOLS),
          },
        };
      }),

    /**
     * Records that an account replaces another: calls and tasks that began with
     * the other account use this one.
     *
     * @returns false if the account is gone or a check failed
     */
    standIn: (
      found: Found<AccountRecord>,
      begun: BegunNeeds[string],
      extraWrites: Write,
    ): Promise<boolean> =>
      changeKept(
        found,
        ({ standsInFor = [], ...record }) => {
          // The work may have begun in a process whose clock is ahead.
          const at = Math.max(database.now(), begun.at);
          const all = [{ ...begun, at }, ...standsInFor];
          return { ...record, standsInFor: all.slice(0, MAX_STANDS_IN_FOR) };
        },
        extraWrites,
      ),

    /**
     * Deletes a person's account and returns its record. Undefined if there was
     * none.
     */
    forget: (subject: string, id: string) => forgetAt(accountKey(subject, id)),

    /** Deletes all accounts of a person and returns their number. */
    async endAllOf(subject: string): Promise<number> {
      const found = await read(subject);
      for (const { key } of found) await forgetAt(key);
      await database.commit((transaction) =>
        transaction.delete(accountKey(subject))
      );
      return found.length;
    },

    /** Reads the accounts of all people, in batches. */
    async *all(batch = BATCH): AsyncGenerator<Found<AccountRecord>[]> {
      const range = rangeOf(accountKey("").slice(0, 1));
      for await (
        const some of database.rangeInParts<AccountRecord>(range, batch)
      ) {
        // Omits the record that changes with each `save`.
        yield some.filter(({ value }) => "sealed" in value);
      }
    },
  };
}

/**
 * Makes the text that binds a key to its record, account and API. The text is
 * encrypted together with the key, and compared after decryption.
 */
function contextOf(record: AccountRecord, key: Deno.KvKey): string {
  const { subject, service, label, formerLabels, accountId } = record;
  const { oauth, api } = record;
  const known = [label, formerLabels, accountId];
  const parts = ["account", subject, service, ...known, api, key];
  return applicationContext(oauth?.application) +
    fingerprint(JSON.stringify(parts));
}

/** Makes the part of the binding text that names our OAuth client. */
function applicationContext(application = ""): string {
  return fingerprint(application);
}

export function accountSeals(sealing: Sealing) {
  /** The decrypted keys, while their records are in memory. */
  const opening = new WeakMap<object, Promise<string | undefined>>();
  const opened = new WeakMap<object, string>();

  async function sealAnew(
    found: AccountEntry,
    key: string,
  ): Promise<AccountRecord> {
    const { label, accountId } = found.value;
    const context = contextOf(found.value, found.key);
    // Once the account is deleted, its name and ID are read from this text.
    const known = JSON.stringify({ label, accountId });
    const { sealed, keyId } = await sealing.seal(`${context}${known}\n${key}`);
    return { ...found.value, sealed, keyId };
  }

  /**
   * Decrypts a text, and returns it with its binding text. Undefined if the
   * text does not begin with `context`.
   */
  async function unseal(
    { sealed, keyId }: Sealed,
    context: string,
  ): Promise<string | undefined> {
    const text = await sealing.unseal({ sealed, keyId });
    return text?.startsWith(context) ? text : undefined;
  }

  /**
   * Decrypts the key of an account, once for each record that was read.
   * Undefined if no encryption key fits, or if the key belongs to another
   * record.
   *
   * @throws {StorageError} if that cannot be known now
   */
  function open(found: AccountEntry): Promise<string | undefined> {
    let key = opening.get(found);
    if (!key) {
      const { value } = found;
      key = unseal(value, contextOf(value, found.key))
        .then((text) => {
          const key = text?.slice(text.indexOf("\n") + 1);
          if (key !== undefined) opened.set(found, key);
          return key;
        });
      opening.set(found, key);
      key.catch(() => opening.delete(found));
    }
    return key;
  }

  return {
    open,
    sealAnew,

    /** Returns the key of a record if it was decrypted before. */
    opened: (found: AccountEntry): string | undefined => opened.get(found),

    /**
     * Decrypts the tokens, name and ID of a deleted account. Undefined if no
     * encryption key fits, or if they belong to another OAuth client.
     *
     * @throws {StorageError} if that cannot be known now
     */
    async openTokens(
      { application, ...sealed }: Sealed & { application: string },
    ): Promise<{ tokens: string; account: KnownAccount } | undefined> {
      const context = applicationContext(application);
      const text = await unseal(sealed, context);
      if (text === undefined) return undefined;
      const end = text.indexOf("\n");
      return {
        tokens: text.slice(end + 1),
        account: JSON.parse(text.slice(2 * context.length, end)),
      };
    },

    /** @throws {StorageError} unless keys can be encrypted now */
    async checkSeals(): Promise<void> {
      await sealing.seal("");
    },
  };
}

/**
 * Adds scopes that a service wants to those that it wanted before. Undefined if
 * asking the person is of no use: all were requested before, the person has
 * declined them for this tool, or they are too many.
 *
 * @see RFC 6750 §3.1
 */
function widerScopes(
  { scopes = [], given = [], wider }: Pick<
    AccountRecord,
    "scopes" | "given" | "wider"
  >,
  wanted: readonly string[],
  tool: string,
): AccountRecord["wider"] {
  const known = [...scopes, ...given];
  if (wanted.every((it) => known.includes(it))) return undefined;
  // Without scopes of the author's, the service chose those that it gave.
  const before = wider?.scopes ?? (scopes.length === 0 ? given : []);
  const all = [...new Set([...before, ...wanted])];
  if (all.join(" ").length > MAX_WIDER_CHARACTERS) return undefined;
  const { tools = [], declined } = wider ?? {};
  if (declined?.includes(tool) && all.length === before.length) {
    return undefined;
  }
  return {
    scopes: all,
    tools: [...new Set([tool, ...tools])].slice(0, MAX_TOOLS),
    ...declined && { declined },
  };
}
