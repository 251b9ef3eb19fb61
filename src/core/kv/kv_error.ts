/**
 * The errors of a database, one class for each way in which the stores react.
 * Only this module recognizes errors of Deno KV, by their messages.
 */

/** Invalid arguments: a mistake in the code, which no retry helps. */
export class KvUsageError extends TypeError {
  /** `KvUsageError` */
  override name = "KvUsageError";
}

/**
 * A lock of another process: nothing was done, and the operation may be sent
 * again.
 */
export class KvLockedError extends Error {
  /** `KvLockedError` */
  override name = "KvLockedError";
}

/** The database was closed before the operation, or during it. */
export class KvClosedError extends Error {
  /** `KvClosedError` */
  override name = "KvClosedError";
}

/** Parts of messages with which Deno KV refuses arguments by a `TypeError`. */
const USAGE = /too (large|many|long)|non-negative|cannot be empty/i;

/** The error message after a denokv server has responded with 400. */
const REFUSED = /^KV Connect failed .*\(status=400 /;

/** The names of errors after the database was closed. */
const CLOSED = ["BadResource", "Interrupted"];

/**
 * The classes, which are compared by name because another copy of this module
 * has its own classes.
 */
const CLASSES = [KvUsageError, KvLockedError, KvClosedError];

/**
 * Converts an error of Deno KV to a class above; returns other errors as they
 * are.
 */
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
