/**
 * Records of tokens to revoke. The commit that deletes an account queues the
 * account's tokens without decrypting them, and so without an encryption key.
 * No record names the person or account: the account's ID and name are
 * encrypted too.
 *
 * @module
 */
import { randomId } from "../../core/crypto/crypto.ts";
import type { Sealed } from "../../core/crypto/sealing.ts";
import type { Expiring, Transaction } from "../../core/kv/database.ts";
import { revocationKey } from "../../core/kv/keys.ts";

/** The seconds after which a revocation is given up. */
export const REVOCATION_SECONDS = 3 * 24 * 60 * 60;

/** The members of an account's entry that a revocation needs. */
interface RevocableAccount {
  key: Deno.KvKey;
  value: Sealed & {
    service: string;
    oauth?: { application: string };
  };
}

export interface RevocationRecord extends Expiring, Sealed {
  service: string;
  /** Our client registration at the service. */
  application: string;
  /** The database key of the deleted account. */
  account: Deno.KvKey;
  tries: number;
}

export interface KnownAccount {
  label?: string;
  accountId?: string;
}

/**
 * True if two accounts certainly differ in ID or name. Only then may the tokens
 * of one be revoked while the other is connected: many services revoke all
 * tokens of an account together.
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

/** Makes the database key of a new queue entry. */
export function newRevocationKey(dueSeconds: number): Deno.KvKey {
  return revocationKey(dueSeconds, randomId());
}

/**
 * Adds the revocation of an account's OAuth tokens to a commit.
 *
 * @param at the key of the queue entry, from {@linkcode newRevocationKey}
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
