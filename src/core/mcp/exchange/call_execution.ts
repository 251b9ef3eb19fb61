/**
 * The execution of a call: the signal that stops its tool, its end, which comes
 * once, and the watch over a call that is not answered at once.
 *
 * @module
 */
import type { Outcome } from "../../log/request.ts";
import type { Ending } from "./answer.ts";
import { fire } from "./author_code.ts";
import type { PendingResponse } from "./pending_response.ts";
import { report, type ReportedCall } from "./report.ts";

export class CallExecution {
  ending?: Ending;
  /** Receives the end of the call, if someone waits for it. */
  onEnding?: (ending: Ending) => void;
  /** The task that does the work of this call, and reports its own end. */
  taskId?: string;
  #abort?: AbortController;
  #over?: AbortController;

  constructor(private readonly call: ReportedCall) {}

  get hasEnded(): boolean {
    return this.ending !== undefined;
  }

  /** True once the call was cancelled or stopped. */
  get isStopped(): boolean {
    return this.#abort?.signal.aborted === true;
  }

  get signal(): AbortSignal {
    return (this.#abort ??= new AbortController()).signal;
  }

  get overSignal(): AbortSignal {
    return (this.#over ??= new AbortController()).signal;
  }

  get isOver(): boolean {
    return this.#over?.signal.aborted === true;
  }

  /** Ends the call, once, and reports its end. */
  end(ending: Ending): void {
    this.ending = ending;
    try {
      report(this.call, ending, this.taskId);
    } catch {
      // A report that fails must not prevent the end.
    }
    this.onEnding?.(ending);
  }

  /** Stops the tool, which may still answer. */
  stop(reason: string): void {
    const { call, call: { engine: { log } } } = this;
    const abort = this.#abort ??= new AbortController();
    fire(abort, reason, {
      log,
      reference: () => call.requestId,
      code: () => call.startedCode,
    });
  }

  /** Stops the tool, whose answer is not wanted any more. */
  interrupt(reason: string): void {
    const over = this.#over ??= new AbortController();
    over.abort(new DOMException(reason, "AbortError"));
    this.stop(reason);
  }

  /** Ends the call without an answer, for a client that wants none. */
  cancel(reason: string): void {
    this.#stopUnanswered(reason, "cancelled");
  }

  /** Ends the call of a caller who may not call any more. */
  expel(): void {
    this.#stopUnanswered(
      "The permission for this call has ended, or is paused",
      "stopped",
    );
  }

  #stopUnanswered(reason: string, outcome: Outcome): void {
    // A later cancellation may still find a tool that ignored the first.
    if (this.hasEnded) return;
    this.interrupt(reason);
    this.end({ outcome });
  }
}

/**
 * The time without a byte after which a comment is sent, because proxies close
 * quiet connections: the impatient ones after 30 seconds. A quick 2025 call
 * stays JSON, because some clients read no event of more than 1 MiB (Python SDK
 * 2.3).
 */
const QUIET_MILLISECONDS = 15_000;

interface WatchedCall {
  readonly admitted: { request: Request };
  readonly startedMilliseconds: number;
  /**
   * Set for 2026, where a client cancels by closing the stream: the time after
   * which the response becomes a stream.
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
