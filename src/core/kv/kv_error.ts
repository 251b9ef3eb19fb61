/**
 * The errors of a database, by what the stores do about them. Errors of Deno KV
 * are recognized by their messages, only here.
 *
 * @module
 */

/** The arguments were refused: a mistake of the code, which no retry helps. */
export class KvUsageError extends TypeError {
  /** `KvUsageError` */
  override name = "KvUsageError";
}

/**
 * Another process has a lock: nothing was done, and the operation may be sent
 * again.
 */
export class KvLockedError extends Error {
  /** `KvLockedError` */
  override name = "KvLockedError";
}

/** The handle was closed before the operation, or during it. */
export class KvClosedError extends Error {
  /** `KvClosedError` */
  override name = "KvClosedError";
}

/** The words of a `TypeError` of Deno KV about arguments. */
const USAGE = /too (large|many|long)|non-negative|cannot be empty/i;

/** The words for what a denokv server refuses. */
const REFUSED = /^KV Connect failed .*\(status=400 /;

/** The names of the errors of a closed handle. */
const CLOSED = ["BadResource", "Interrupted"];

/**
 * The classes, to be found by name: another copy of this module has its own.
 */
const CLASSES = [KvUsageError, KvLockedError, KvClosedError];

/** Gives an error of Deno KV its class. Any other error stays as it is. */
export function kvErrorOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message } = error;
  const options = { cause: error };
  const kind = CLASSES.find((kind) => kind.name === name);
  if (kind) return error instanceof kind ? error : new kind(message, options);
  if (message.includes("is locked")) return new KvLockedError(message, options);
  if (CLOSED.includes(name)) return new KvClosedError(message, options);
  const isUsage = error instanceof TypeError && USAGE.test(message) ||
    / could not be cloned/.test(message) || REFUSED.test(message);
  return isUsage ? new KvUsageError(message, options) : error;
}
