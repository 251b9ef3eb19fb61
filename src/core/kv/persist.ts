/**
 * Operations that are repeated: those that must survive a short outage of the
 * database, and those that found it locked.
 * @module
 */
import { pause } from "../clock.ts";
import { StorageError } from "../errors.ts";
import { kvErrorOf, KvLockedError } from "./kv_error.ts";

const FIRST_PAUSE_MILLISECONDS = 100;
const MAX_PAUSE_MILLISECONDS = 2000;

/**
 * Repeats an operation while the database does not respond.
 *
 * @throws {StorageError} the error of the last try, once the signal has fired
 * or the time is over
 */
export async function persist<T>(
  operation: () => Promise<T>,
  { signal, forMilliseconds = Infinity }: {
    signal?: AbortSignal;
    forMilliseconds?: number;
  },
): Promise<T> {
  const started = performance.now();
  for (let milliseconds = FIRST_PAUSE_MILLISECONDS;;) {
    try {
      return await operation();
    } catch (error) {
      const isOver = signal?.aborted ||
        performance.now() - started >= forMilliseconds;
      if (isOver || !(error instanceof StorageError)) throw error;
    }
    await pause(milliseconds, signal);
    milliseconds = Math.min(MAX_PAUSE_MILLISECONDS, milliseconds * 2);
  }
}

/**
 * Runs a cleanup and ignores its failure, because the records expire anyway.
 */
export async function tidy(operation: () => Promise<unknown>): Promise<void> {
  try {
    await operation();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
}

/**
 * Repeats an operation, with jitter, while the database is locked. That happens
 * under load if several processes share a SQLite file.
 */
export async function whileLocked<T>(
  operation: () => Promise<T>,
  milliseconds = 5000,
): Promise<T> {
  const until = performance.now() + milliseconds;
  for (let attempt = 1;; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (
        !(kvErrorOf(error) instanceof KvLockedError) ||
        performance.now() > until
      ) throw error;
      await pause(Math.random() * Math.min(50, 2 * attempt));
    }
  }
}
