/**
 * The seals of people's accounts. A key is sealed to its record, so that
 * someone who can write the database cannot move the key to another person.
 *
 * @module
 */
import { fingerprint } from "../../core/crypto/crypto.ts";
import type { Sealed, Sealing } from "../../core/crypto/sealing.ts";
import type { KnownAccount } from "./revocation_record.ts";
import type { AccountRecord, PlacedAccount } from "./accounts.ts";

/**
 * Makes the text that ties a seal to its record: a key opens only in its own
 * record, for its own account and API.
 */
function contextOf(record: AccountRecord, key: Deno.KvKey): string {
  const { subject, service, label, formerLabels, accountId } = record;
  const { oauth, api } = record;
  const known = [label, formerLabels, accountId];
  const parts = ["account", subject, service, ...known, api, key];
  return applicationContext(oauth?.application) +
    fingerprint(JSON.stringify(parts));
}

/** Makes the text that ties a seal to our application at a service. */
function applicationContext(application = ""): string {
  return fingerprint(application);
}

export function accountSeals(sealing: Sealing) {
  /** The opened keys of records, for as long as the records are in memory. */
  const opening = new WeakMap<object, Promise<string | undefined>>();
  const opened = new WeakMap<object, string>();

  async function sealAnew(
    found: PlacedAccount,
    key: string,
  ): Promise<AccountRecord> {
    const { label, accountId } = found.value;
    const context = contextOf(found.value, found.key);
    // Once the account is deleted, only the seal tells the account's name and
    // id.
    const known = JSON.stringify({ label, accountId });
    const { sealed, keyId } = await sealing.seal(`${context}${known}\n${key}`);
    return { ...found.value, sealed, keyId };
  }

  /**
   * Unseals a text, and returns it with the context that it begins with;
   * undefined if it begins with another context.
   */
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

    /** Returns the key of a record if it was opened before. */
    opened: (found: PlacedAccount): string | undefined => opened.get(found),

    /**
     * Opens the tokens of a deleted account, with its name and id; undefined if
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
