/**
 * The seals of people's accounts. A key is sealed to its record, so that no one
 * who can write the database can move it under another person's name.
 *
 * @module
 */
import { fingerprint } from "../../core/crypto/crypto.ts";
import type { Sealed, Sealing } from "../../core/crypto/sealing.ts";
import type { AccountRecord, PlacedAccount } from "./accounts.ts";

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
    found: PlacedAccount,
    key: string,
  ): Promise<AccountRecord> {
    const context = contextOf(found.value, found.key);
    const { sealed, keyId } = await sealing.seal(context + key);
    return { ...found.value, sealed, keyId };
  }

  /** Opens a text that begins with a context; `length` are not of the text. */
  async function unseal(
    { sealed, keyId }: Sealed,
    context: string,
    length = context.length,
  ): Promise<string | undefined> {
    const text = await sealing.unseal({ sealed, keyId });
    return text?.startsWith(context) ? text.slice(length) : undefined;
  }

  /**
   * Opens the key of an account, once for each record that was read; undefined
   * if no key of the operator opens it, or it was sealed for another record.
   *
   * @throws {StorageError} when that cannot be known now
   */
  function open(found: PlacedAccount): Promise<string | undefined> {
    let key = opened.get(found);
    if (!key) {
      const { value } = found;
      key = unseal(value, contextOf(value, found.key));
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
    openTokens(
      { application, ...sealed }: Sealed & { application: string },
    ): Promise<string | undefined> {
      const context = applicationContext(application);
      return unseal(sealed, context, 2 * context.length);
    },

    /** Checks that a key can be sealed now. @throws {StorageError} */
    async checkSeals(): Promise<void> {
      await sealing.seal("");
    },
  };
}
