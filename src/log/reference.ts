/**
 * References: a page shows one to a person, and an operator looks it up in the
 * log.
 *
 * @module
 */
import { randomId } from "../crypto/crypto.ts";

/** A prefix of this process; the number makes each reference new. */
const prefix = randomId(8);
let count = 0;

/** Makes a reference: not secret, and a hundred times cheaper than random. */
export function newReference(): string {
  return `${prefix}-${(++count).toString(36)}`;
}

/**
 * Makes a name for a secret, by which log lines can be related. Its 32 bits
 * tell nothing about the 128 of an identifier (FNV-1a).
 */
export function shortHash(secret: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < secret.length; index++) {
    hash = Math.imul(hash ^ secret.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
