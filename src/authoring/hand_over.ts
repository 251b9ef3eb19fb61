/**
 * The time after which a call that still runs becomes a task, so that no client
 * waits longer than it wants to.
 *
 * @module
 */

/** The default in seconds: some clients end a call after a minute. */
export const HAND_OVER_SECONDS = 45;

/** Finds the fault of a time; undefined: there is none. */
export function handOverComplaint(seconds: number): string | undefined {
  return Number.isFinite(seconds) && seconds >= 0
    ? undefined
    : "handOver must be a number of seconds, or 0 for never";
}
