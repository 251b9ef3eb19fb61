/**
 * Operations that must survive a short outage of the database.
 *
 * @module
 */
import { pause } from "../clock.ts";
import { StorageError } from "../errors.ts";

const FIRST_PAUSE_MILLISECONDS = 100;
const LONGEST_PAUSE_MILLISECONDS = 2000;

/**
 * Repeats an operation while the database does not answer.
 *
 * @throws {StorageError} the last try's, once the signal has fired or the time
 * is over
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
    milliseconds = Math.min(LONGEST_PAUSE_MILLISECONDS, milliseconds * 2);
  }
}

/** Runs a cleanup whose failure does no harm: expiry would do it later. */
export async function tidy(operation: () => Promise<unknown>): Promise<void> {
  try {
    await operation();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
}
