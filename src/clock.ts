/**
 * The present time. A server reads it from one clock, so that a test can set
 * it.
 *
 * @module
 */

/** Gives the present time in epoch milliseconds. */
export type Clock = () => number;

/** The machine's clock. */
export const systemClock: Clock = () => Date.now();

/** Gives the present time in whole epoch seconds. */
export function now(clock: Clock = systemClock): number {
  return Math.floor(clock() / 1000);
}
