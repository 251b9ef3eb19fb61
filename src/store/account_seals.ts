/**
 * The seals of people's accounts. A key is sealed to its record, so that no one
 * who can write the database can move it under another person's name.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { Sealed, Sealing } from "../crypto/sealing.ts";
import type { AccountRecord } from "./accounts.ts";
import type { Found } from "./database.ts";

type SealedAccount = Pick<Found<AccountRecord>, "key" | "value">;

/**
 * Names a record within its seal: no key opens in another one, under the name of
 * another account, or for another API.
 */
function contextOf(record: AccountRecord, key: Deno.KvKey): string {
  const { subject, service, label, formerLabels, accountId } = record;
  const { oauth, api } = record;
  const known = [label, formerLabels, accountId];
  const parts = ["account", subject, service, ...known, api, key];
  return applicationContext(oauth?.application) +
    fingerprint(JSON.stringify(parts));
}

/** Names an application at a service within seals, by itself. */
function applicationContext(application = ""): string {
  return fingerprint(application);
}

export function accountSeals(sealing: Sealing) {
  /** The keys of records that are in memory, for as long as these are. */
  const opened = new WeakMap<object, Promise<string | undefined>>();

  async function sealAnew(
    found: SealedAccount,
    key: string,
  ): Promise<AccountRecord> {
    const context = contextOf(found.value, found.key);
    const { sealed, keyId } = await sealing.seal(context + key);
    return { ...found.value, sealed, keyId };
  }

  async function unseal(
    { key, value }: SealedAccount,
  ): Promise<string | undefined> {
    const { sealed, keyId } = value;
    const text = await sealing.unseal({ sealed, keyId });
    const context = contextOf(value, key);
    return text?.startsWith(context) ? text.slice(context.length) : undefined;
  }

  /**
   * Opens the key of an account, once for each record that was read; undefined
   * if no key of the operator opens it, or it was sealed for another record.
   *
   * @throws {StorageError} when that cannot be known now
   */
  function open(
    found: SealedAccount,
  ): Promise<string | undefined> {
    let key = opened.get(found);
    if (!key) {
      key = unseal(found);
      opened.set(found, key);
      key.catch(() => opened.delete(found));
    }
    return key;
  }

  return {
    open,
    sealAnew,

    /**
     * Opens tokens whose account is gone; undefined if no key of the operator
     * opens them, or they are another application's.
     *
     * @throws {StorageError} when that cannot be known now
     */
    async openTokens(
      { application, sealed, keyId }: Sealed & { application: string },
    ): Promise<string | undefined> {
      const text = await sealing.unseal({ sealed, keyId });
      const context = applicationContext(application);
      return text?.startsWith(context)
        ? text.slice(2 * context.length)
        : undefined;
    },

    /** Checks that a key can be sealed now. @throws {StorageError} */
    async checkSeals(): Promise<void> {
      await sealing.seal("");
    },
  };
}
