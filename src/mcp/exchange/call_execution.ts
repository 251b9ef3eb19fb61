/**
 * The execution of a call: the signal that stops its tool, and its end, which
 * comes once.
 *
 * @module
 */
import type { Outcome } from "../../log/request.ts";
import type { Ending } from "./answer.ts";
import { fire } from "./author_code.ts";
import { report, type ReportedCall } from "./report.ts";

export class CallExecution {
  ending?: Ending;
  /** Receives the end of the call, if someone waits for it. */
  onEnding?: (ending: Ending) => void;
  /** The task that does the work of this call, and reports its own end. */
  taskId?: string;
  #abort?: AbortController;

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
    fire(abort, reason, { log, reference: () => call.requestId });
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
    this.stop(reason);
    this.end({ outcome });
  }
}
