/**
 * The present time. A server reads it from one clock, so that a test can set
 * it.
 *
 * @module
 */

/** Returns the present time in epoch milliseconds. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** Returns the present time in whole epoch seconds. */
export function now(clock: Clock = systemClock): number {
  return Math.floor(clock() / 1000);
}

/**
 * The time in which a second signal counts as the parent process's copy of the
 * first.
 */
export const SAME_SIGNAL_MILLISECONDS = 500;

/** Waits; resolves early if `signal` is aborted, at once if it was already. */
export function pause(
  milliseconds: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}

/**
 * Awaits a promise for at most this time. After that, calls `late` and returns
 * its result.
 */
export async function within<T, L = void>(
  milliseconds: number,
  promise: T | PromiseLike<T>,
  late: () => L = () => undefined as L,
): Promise<T | L> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  try {
    return await Promise.race([promise, over.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Awaits a promise, unless the signal is aborted first.
 *
 * @throws the signal's reason
 */
export async function unlessAborted<T>(
  signal: AbortSignal | null | undefined,
  awaited: Promise<T>,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal!.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([promise, awaited]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
