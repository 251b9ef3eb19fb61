/**
 * References: what a person is told and an operator looks up in the log.
 *
 * @module
 */
import { randomId } from "./crypto.ts";

/** Makes a process's references its own; the number makes each one new. */
const prefix = randomId(8);
let count = 0;

/** A new reference: not secret, and a hundred times cheaper than a random one. */
export function newReference(): string {
  return `${prefix}-${(++count).toString(36)}`;
}

/**
 * A name for a secret, by which lines of a log belong together. 32 bits say
 * nothing of the 128 of an identifier (FNV-1a).
 */
export function fingerprint(secret: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < secret.length; index++) {
    hash = Math.imul(hash ^ secret.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
