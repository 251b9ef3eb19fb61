/**
 * Waiting for another process. A watch sees this process's writes at once, and
 * another's on a remote database, but never another's on a shared SQLite file,
 * so there are polls too.
 *
 * @module
 * @see https://github.com/denoland/deno/issues/21640
 */
import { StorageError } from "../errors.ts";
import type { Poll } from "./polls.ts";

/** The methods of a database that a wait needs. */
interface Waitable {
  poll<T>(key: Deno.KvKey, poll: Poll<T>): () => Promise<void>;
  watch<T>(
    key: Deno.KvKey,
    onValue: (value: T | undefined) => void,
  ): () => Promise<void>;
}

/** Settings of a wait. */
export interface Wait {
  slowestMilliseconds?: number;
  /** Called after a failed read; the wait goes on. */
  onFailure?(error: unknown): void;
}

/**
 * Waits for a value under a key that `isWanted` accepts. A database that does
 * not answer for a while does not end the wait.
 *
 * @throws the signal's reason when it fires first
 */
export async function waitFor<T>(
  database: Waitable,
  key: Deno.KvKey,
  isWanted: (value: T | undefined) => boolean,
  signal: AbortSignal,
  { slowestMilliseconds, onFailure }: Wait = {},
): Promise<T | undefined> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  const onAbort = () => reject(signal.reason);
  const onValue = (value: T | undefined) => {
    if (isWanted(value)) resolve(value);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const stopWatching = database.watch<T>(key, onValue);
  const stopPolling = database.poll<T>(key, {
    onValue,
    onFailure(error) {
      if (error instanceof StorageError) onFailure?.(error);
      else reject(error);
    },
    slowestMilliseconds,
  });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    await Promise.all([stopPolling(), stopWatching()]);
  }
}
