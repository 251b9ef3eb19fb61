/**
 * The watch over a call that is not answered at once.
 *
 * @module
 */
import type { CallExecution } from "./call_execution.ts";
import type { PendingResponse } from "./pending_response.ts";

/**
 * The time without a byte after which a comment is sent, because proxies close
 * quiet connections: the impatient ones after 30 seconds. A quick 2025 call
 * stays JSON, because some clients read no event of more than 1 MiB (Python SDK
 * 2.3).
 */
const QUIET_MILLISECONDS = 15_000;

/** The parts of a call that its watch needs. */
interface WatchedCall {
  readonly admitted: { request: Request };
  readonly startedMilliseconds: number;
  /**
   * Set for 2026, where a client cancels by closing the stream: the time after
   * which the response becomes one.
   */
  readonly slowMilliseconds?: number;
  readonly response: PendingResponse;
  readonly execution: CallExecution;
}

export class CallWatch {
  /** Called on each beat, for the running tool or the wait for its task. */
  onBeat?: (nowMilliseconds: number) => void;

  #isHearing = false;

  constructor(private readonly call: WatchedCall) {}

  /** Keeps a quiet response open: the first comment makes it a stream. */
  beat(nowMilliseconds: number): void {
    const { call } = this;
    this.onBeat?.(nowMilliseconds);
    if (call.execution.hasEnded) return;
    const { response, startedMilliseconds, slowMilliseconds } = call;
    if (slowMilliseconds !== undefined) {
      this.#hear();
      const isSlow = nowMilliseconds - startedMilliseconds >= slowMilliseconds;
      if (isSlow) response.open();
    }
    const last = Math.max(startedMilliseconds, response.lastSentMilliseconds);
    if (nowMilliseconds - last < QUIET_MILLISECONDS) return;
    if (response.isStream) response.comment();
    else response.open();
  }

  /** Notices a client that leaves before its stream opens. */
  #hear(): void {
    // Only from the first beat on: the signal costs quick calls too much.
    if (this.#isHearing) return;
    this.#isHearing = true;
    const { response, admitted: { request: { signal } } } = this.call;
    const leave = () => {
      if (!response.hasEnded) response.onGone();
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  }
}
