/**
 * The present. A server reads it from one clock, so that a test can set it.
 *
 * @module
 */

/** Gives the present in epoch milliseconds. */
export type Clock = () => number;

/** The machine's clock. */
export const systemClock: Clock = () => Date.now();

/** The present in whole epoch seconds. */
export function now(clock: Clock = systemClock): number {
  return Math.floor(clock() / 1000);
}
