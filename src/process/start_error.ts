/**
 * A start that failed.
 *
 * @module
 */

/** A start that failed for a reason that the person at the terminal can fix. */
export class StartError extends Error {
  override name = "StartError";
}
