/**
 * The error of a failed start.
 *
 * @module
 */

/** A start that failed for a reason that the operator can fix. */
export class StartError extends Error {
  override name = "StartError";
}
