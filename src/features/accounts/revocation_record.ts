/**
 * Tokens of people's accounts that are to be revoked at their services. They get
 * into the queue in the commit that deletes their account, sealed as they were:
 * also by a process that has no key to open them. No record names a person or
 * their account: the seal has what the account is known by.
 *
 * @module
 */
import { randomId } from "../../core/crypto/crypto.ts";
import type { Sealed } from "../../core/crypto/sealing.ts";
import type { Expiring, Transaction } from "../../core/kv/database.ts";
import { revocationKey } from "../../core/kv/keys.ts";

/** The time after which a revocation is given up, in seconds. */
export const REVOCATION_SECONDS = 3 * 24 * 60 * 60;

/** An account at its key, as far as the end of its tokens goes. */
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
  /** Names our application at the service. */
  application: string;
  /** The key at which the account was. */
  account: Deno.KvKey;
  /** The number of tries that were begun. */
  tries: number;
}

/** The facts by which an account is known. */
export interface KnownAccount {
  label?: string;
  accountId?: string;
}

/**
 * True if two are different accounts for sure: by the service's ids of them, or
 * by their names. While an account is connected, other tokens are revoked only
 * then: many services end all of an account's together.
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

/** Makes a key of the queue. */
export function newRevocationKey(dueSeconds: number): Deno.KvKey {
  return revocationKey(dueSeconds, randomId());
}

/**
 * Adds the revocation of an account's tokens to a commit. A pasted key is not
 * revoked.
 *
 * @param at its key, from {@linkcode newRevocationKey}
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
