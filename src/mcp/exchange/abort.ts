/**
 * The signals of authors' code. A listener that throws is an uncaught exception
 * of the process, which would end it: a client that cancels must not.
 *
 * @module
 */
import type { Logger } from "../../log/log.ts";

/**
 * Fires a signal with an `AbortError`. What a listener throws meanwhile is
 * logged, those of signals that depend on this one included.
 */
export function fire(
  abort: AbortController,
  reason: string,
  { log, reference }: { log: Logger; reference: () => string },
): void {
  if (abort.signal.aborted) return;
  const survive = (event: ErrorEvent) => {
    // The process may have a listener of its own.
    if (event.defaultPrevented) return;
    event.preventDefault();
    log.error("A listener of `signal` threw", {
      reference: reference(),
      error: event.error,
    });
  };
  globalThis.addEventListener?.("error", survive);
  try {
    abort.abort(new DOMException(reason, "AbortError"));
  } finally {
    globalThis.removeEventListener?.("error", survive);
  }
}
