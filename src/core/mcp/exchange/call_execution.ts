/**
 * The execution of a call: the signal that stops its tool, and its only end.
 * @module
 */
import { RpcCode } from "../../errors.ts";
import { printError } from "../../protocol/messages.ts";
import type { Ending } from "./answer.ts";
import { fire } from "./author_code.ts";
import { reportCall, type ReportedCall } from "./report.ts";

export class CallExecution {
  ending?: Ending;
  /** Called when the call ends; undefined if no one waits for that. */
  onEnding?: (ending: Ending) => void;
  /** The task that the call became, which reports its own end. */
  taskId?: string;
  #abort?: AbortController;
  #over?: AbortController;

  constructor(private readonly call: ReportedCall) {}

  get hasEnded(): boolean {
    return this.ending !== undefined;
  }

  /** True if the call was cancelled or stopped. */
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
      reportCall(this.call, ending, this.taskId);
    } catch {
      // The report failed, which must not prevent the end.
    }
    this.onEnding?.(ending);
  }

  /** Stops the tool, which may still return a result. */
  stop(reason: string): void {
    const { call, call: { engine: { log } } } = this;
    const abort = this.#abort ??= new AbortController();
    fire(abort, reason, {
      log,
      reference: () => call.requestId,
      code: () => call.startedCode,
    });
  }

  /** Stops the tool, and drops its result. */
  interrupt(reason: string): void {
    const over = this.#over ??= new AbortController();
    over.abort(new DOMException(reason, "AbortError"));
    this.stop(reason);
  }

  /** Ends the call without a response, for a client that cancelled it. */
  cancel(reason: string): void {
    this.#endAtOnce(reason, { outcome: "cancelled" });
  }

  /** Ends the call with an error, because its caller's access has ended. */
  expel(): void {
    const message =
      "The session or permission of this call has ended, or is paused";
    const error = { code: RpcCode.badRequest, message };
    const body = printError(this.call.message.id, error);
    this.#endAtOnce(message, { outcome: "stopped", body, status: 403 });
  }

  #endAtOnce(reason: string, ending: Ending): void {
    // The call has ended: a client may cancel twice, for a tool that ignored
    // it.
    if (this.hasEnded) return;
    this.interrupt(reason);
    this.end(ending);
  }
}
