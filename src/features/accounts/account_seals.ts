/**
 * Encrypts the keys of people's accounts. Each is bound to its record, so that
 * someone who can write to the database cannot give it to another person.
 *
 * @module
 */
import { fingerprint } from "../../core/crypto/crypto.ts";
import type { Sealed, Sealing } from "../../core/crypto/sealing.ts";
import type { KnownAccount } from "./revocation_record.ts";
import type { AccountEntry, AccountRecord } from "./accounts.ts";

/**
 * Makes the text that binds a key to its record, account and API. It is
 * encrypted with the key, and compared after decryption.
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
    // Once the account is deleted, its name and ID are known only from here.
    const known = JSON.stringify({ label, accountId });
    const { sealed, keyId } = await sealing.seal(`${context}${known}\n${key}`);
    return { ...found.value, sealed, keyId };
  }

  /**
   * Decrypts a text, and returns it with its binding text. Undefined if the
   * binding text begins otherwise.
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
