/**
 * Tokens of people's accounts that are to be revoked at their services. They get
 * into the queue in the commit that deletes their account, sealed as they were:
 * also by a process that has no key to open them. No record names a person.
 *
 * @module
 */
import { fingerprint, randomId } from "../crypto/crypto.ts";
import type { Sealed } from "../crypto/sealing.ts";
import type { Expiring, Transaction } from "./database.ts";
import { revocationKey } from "./keys.ts";

/** The time after which a revocation is given up, in seconds. */
export const REVOCATION_SECONDS = 3 * 24 * 60 * 60;

/** An account at its key, as far as the end of its tokens goes. */
interface RevocableAccount {
  key: Deno.KvKey;
  value: Sealed & {
    service: string;
    label?: string;
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
  /** The fingerprint of the account's name, if it had one. */
  label?: string;
  /** The number of tries that were begun. */
  tries: number;
}

/**
 * True if an account is surely another one than that of a name. While it is
 * connected, other tokens are revoked only then: many services end all of an
 * account's together.
 */
export function isOtherAccount(
  { label }: { label?: string },
  name: string | undefined,
): boolean {
  return label !== undefined && name !== undefined && label !== name;
}

/**
 * Adds the revocation of an account's tokens to a commit. A pasted key is not
 * revoked.
 */
export function queueRevocation(
  transaction: Transaction,
  { key, value }: RevocableAccount,
  now: number,
  dueSeconds = now,
): void {
  const { service, label, oauth, sealed, keyId } = value;
  if (!oauth) return;
  transaction.set<RevocationRecord>(revocationKey(dueSeconds, randomId()), {
    service,
    application: oauth.application,
    account: key,
    ...label !== undefined && { label: fingerprint(label) },
    sealed,
    keyId,
    tries: 0,
    expiresAt: dueSeconds + REVOCATION_SECONDS,
  });
}
