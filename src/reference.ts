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
