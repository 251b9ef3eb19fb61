/**
 * Waiting for another process. A watch sees this process's writes at once, and
 * another's on a remote database, but never another's on a shared SQLite file,
 * so a poll runs beside it.
 *
 * @module
 * @see https://github.com/denoland/deno/issues/21640
 */
import { StorageError } from "../errors.ts";

const FIRST_POLL_MILLISECONDS = 20;
const SLOW_POLL_MILLISECONDS = 100;
/** Upper bound of the back-off. */
const SLOWEST_POLL_MILLISECONDS = 2000;
const PATIENCE = 1 / 100;
/** Where watches cross processes, a poll is for a watch that broke. */
const REMOTE_POLL_MILLISECONDS = 5000;

/** What a wait needs of a database. */
interface Waiting {
  readonly isRemote: boolean;
  get<T>(key: Deno.KvKey): Promise<{ value: T | undefined }>;
  watch<T>(
    key: Deno.KvKey,
    onValue: (value: T | undefined) => void,
  ): () => Promise<void>;
}

/** How a wait is done. */
export interface Wait {
  slowestMilliseconds?: number;
  /** Is told of a failed read; the wait goes on. */
  onFailure?(error: unknown): void;
}

/**
 * How long to wait for the next look, in milliseconds. Polls that go on for an
 * hour must not cost what those of the first seconds do.
 */
export function nextPause(
  pause: number,
  waited: number,
  slowest = SLOWEST_POLL_MILLISECONDS,
): number {
  return Math.max(
    Math.min(SLOW_POLL_MILLISECONDS, pause * 1.5),
    Math.min(slowest, waited * PATIENCE),
  );
}

/**
 * The first value under a key that `isWanted` takes. A database that does not
 * answer for a while does not end the wait.
 *
 * @throws the signal's reason when it fires first
 */
export async function waitFor<T>(
  database: Waiting,
  key: Deno.KvKey,
  isWanted: (value: T | undefined) => boolean,
  signal: AbortSignal,
  { slowestMilliseconds, onFailure }: Wait = {},
): Promise<T | undefined> {
  signal.throwIfAborted();
  const started = performance.now();
  let wake = () => {};
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort, { once: true });
  let watched: { value: T | undefined } | undefined;
  const stop = database.watch<T>(key, (value) => {
    if (!isWanted(value)) return;
    watched = { value };
    wake();
  });
  try {
    for (let pause = FIRST_POLL_MILLISECONDS;;) {
      try {
        const { value } = await database.get<T>(key);
        if (isWanted(value)) return value;
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        onFailure?.(error);
        pause = Math.max(pause, SLOW_POLL_MILLISECONDS);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(
          resolve,
          database.isRemote ? REMOTE_POLL_MILLISECONDS : pause,
        );
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        if (watched || signal.aborted) wake();
      });
      signal.throwIfAborted();
      if (watched) return watched.value;
      pause = nextPause(
        pause,
        performance.now() - started,
        slowestMilliseconds,
      );
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    await stop();
  }
}
