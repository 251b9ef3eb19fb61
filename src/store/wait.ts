/**
 * Waiting for another process. A watch sees this process's writes at once but
 * never another's on a shared SQLite file, so a poll runs beside it.
 *
 * @module
 * @see https://github.com/denoland/deno/issues/21640
 */
import { reach } from "./kv.ts";

const FIRST_POLL_MILLISECONDS = 20;
const SLOW_POLL_MILLISECONDS = 100;
/** Of a wait that has lasted: nobody who took a minute misses half a second. */
const SLOWEST_POLL_MILLISECONDS = 1000;
const PATIENCE = 1 / 100;

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
 * The first value under a key that `isWanted` takes.
 *
 * @throws the signal's reason when it fires first
 */
export async function waitFor<T>(
  kv: Deno.Kv,
  key: Deno.KvKey,
  isWanted: (value: T | null) => boolean,
  signal: AbortSignal,
  { slowestMilliseconds }: { slowestMilliseconds?: number } = {},
): Promise<T | null> {
  signal.throwIfAborted();
  const started = Date.now();
  const reader = kv.watch<[T]>([key]).getReader();
  let wake = () => {};
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort, { once: true });
  let watched: T | null | undefined;
  const watching = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (isWanted(value[0].value)) {
        watched = value[0].value;
        return wake();
      }
    }
  })().catch(() => {});
  try {
    for (let pause = FIRST_POLL_MILLISECONDS;;) {
      const { value } = await reach(() => kv.get<T>(key));
      if (isWanted(value)) return value;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pause);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        if (watched !== undefined || signal.aborted) wake();
      });
      signal.throwIfAborted();
      if (watched !== undefined) return watched;
      pause = nextPause(pause, Date.now() - started, slowestMilliseconds);
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    await reader.cancel();
    await watching;
  }
}
