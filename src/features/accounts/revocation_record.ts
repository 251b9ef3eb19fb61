/**
 * Tokens of people's accounts that are to be revoked at their services. The
 * commit that deletes an account queues its tokens, still sealed, so that even
 * a process without the operator's keys can delete an account. No record names
 * a person or their account: the account's name and id are inside the seal.
 *
 * @module
 */
import { randomId } from "../../core/crypto/crypto.ts";
import type { Sealed } from "../../core/crypto/sealing.ts";
import type { Expiring, Transaction } from "../../core/kv/database.ts";
import { revocationKey } from "../../core/kv/keys.ts";

/** The time after which a revocation is given up, in seconds. */
export const REVOCATION_SECONDS = 3 * 24 * 60 * 60;

/** An account with its database key, as far as revocation needs it. */
interface RevocableAccount {
  key: Deno.KvKey;
  value: Sealed & {
    service: string;
    oauth?: { application: string };
  };
}

/** The tokens of an account that is gone. */
export interface RevocationRecord extends Expiring, Sealed {
  service: string;
  /** The name of our application at the service. */
  application: string;
  /** The database key that the account had. */
  account: Deno.KvKey;
  /** The number of tries that were begun. */
  tries: number;
}

/** The id and the name by which an account is known. */
export interface KnownAccount {
  label?: string;
  accountId?: string;
}

/**
 * True if two are surely different accounts, by the ids that the service gives
 * them or by their names. While an account is connected, only tokens of surely
 * different ones are revoked: many services end all tokens of an account
 * together.
 */
export function isOtherAccount(
  one: KnownAccount,
  other: KnownAccount,
): boolean {
  const hasIds = one.accountId !== undefined && other.accountId !== undefined;
  const part = hasIds ? "accountId" : "label";
  return one[part] !== undefined && other[part] !== undefined &&
    one[part] !== other[part];
}

/** Makes the key of a new entry of the queue. */
export function newRevocationKey(dueSeconds: number): Deno.KvKey {
  return revocationKey(dueSeconds, randomId());
}

/**
 * Adds the revocation of an account's tokens to a commit. A pasted key is not
 * revoked.
 *
 * @param at the key of the queue's entry, from {@linkcode newRevocationKey}
 */
export function queueRevocation(
  transaction: Transaction,
  { key, value }: RevocableAccount,
  at: Deno.KvKey,
): void {
  const { service, oauth, sealed, keyId } = value;
  if (!oauth) return;
  transaction.set<RevocationRecord>(at, {
    service,
    application: oauth.application,
    account: key,
    sealed,
    keyId,
    tries: 0,
    expiresAt: Number(at[1]) + REVOCATION_SECONDS,
  });
}
