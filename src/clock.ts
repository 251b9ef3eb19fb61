/**
 * The present.
 *
 * @module
 */

/** The present in whole epoch seconds. */
export function now(): number {
  return Math.floor(Date.now() / 1000);
}
