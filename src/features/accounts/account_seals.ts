/**
 * The seals of people's accounts. A key is sealed to its record, so that no one
 * who can write the database can move it under another person's name.
 *
 * @module
 */
import { fingerprint } from "../../core/crypto/crypto.ts";
import type { Sealed, Sealing } from "../../core/crypto/sealing.ts";
import type { KnownAccount } from "./revocation_record.ts";
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
  const opening = new WeakMap<object, Promise<string | undefined>>();
  const opened = new WeakMap<object, string>();

  async function sealAnew(
    found: PlacedAccount,
    key: string,
  ): Promise<AccountRecord> {
    const { label, accountId } = found.value;
    const context = contextOf(found.value, found.key);
    // Once the account is deleted, this alone tells what it was known by.
    const known = JSON.stringify({ label, accountId });
    const { sealed, keyId } = await sealing.seal(`${context}${known}\n${key}`);
    return { ...found.value, sealed, keyId };
  }

  /** Opens a text that begins with a context, whole. */
  async function unseal(
    { sealed, keyId }: Sealed,
    context: string,
  ): Promise<string | undefined> {
    const text = await sealing.unseal({ sealed, keyId });
    return text?.startsWith(context) ? text : undefined;
  }

  /**
   * Opens the key of an account, once for each record that was read; undefined
   * if no key of the operator opens it, or it was sealed for another record.
   *
   * @throws {StorageError} when that cannot be known now
   */
  function open(found: PlacedAccount): Promise<string | undefined> {
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

    /** Gives the key of a record that was opened before. */
    opened: (found: PlacedAccount): string | undefined => opened.get(found),

    /**
     * Opens tokens whose account is gone, and what it was known by; undefined if
     * no key of the operator opens them, or they are another application's.
     *
     * @throws {StorageError} when that cannot be known now
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

    /** Checks that a key can be sealed now. @throws {StorageError} */
    async checkSeals(): Promise<void> {
      await sealing.seal("");
    },
  };
}
