/**
 * What must not be lost although the database is away for a while.
 *
 * @module
 */
import { StorageError } from "../errors.ts";

const FIRST_PAUSE_MILLISECONDS = 100;
const LONGEST_PAUSE_MILLISECONDS = 2000;

/**
 * Repeats an operation while the database does not answer.
 *
 * @throws {StorageError} that of the last try, once the signal has fired or
 * the time is over
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

/** Does what no one waits for and time would do as well: a failure is no harm. */
export async function tidy(operation: () => Promise<unknown>): Promise<void> {
  try {
    await operation();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
}

/** So long, or less when the signal fires. */
export function pause(
  milliseconds: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}
