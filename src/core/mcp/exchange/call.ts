/**
 * A request as its method and its author see it: its data, ways to reach the
 * client, and its execution, with the signal that stops its tool and its only
 * end. Handled by `checkCall()`, `runCall()` and `settleCall()`.
 *
 * @module
 */
import type { Context, McpClient } from "../../../authoring/context.ts";
import type { Authenticated, Caller, Upstream } from "../../caller.ts";
import type { JsonObject } from "../../json.ts";
import { newReference, type Outcome } from "../../log/log.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { PrintedLists } from "../../catalogue/printed_lists.ts";
import {
  printError,
  printNotification,
  type RpcRequest,
} from "../../protocol/messages.ts";
import type { AskedQuestion } from "../../protocol/question.ts";
import { metaOf, progressTokenOf } from "../../protocol/request_meta.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import { type Answer, type Ending, PendingResponse } from "./answer.ts";
import { abortSafely, AuthorCode } from "./author_code.ts";
import { CallContext } from "./call_context.ts";
import type { AskingCall, Link, PersonPages, Work } from "./work.ts";
import { type LimitKey, limitKeyOf } from "./limits.ts";
import { responseSending } from "./unread_answers.ts";
import type { AdmittedRequest, Engine } from "./engine.ts";
import type { ResponseSending } from "../../http/outgoing_body.ts";
import {
  advise,
  reportCall,
  type ReportedCall,
  reportTask,
  warn,
} from "./report.ts";
import { PERMISSION_ENDED, type RunningCall } from "./running.ts";
import { RpcCode } from "../../errors.ts";

class CallExecution {
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
    abortSafely(abort, reason, {
      log,
      reference: () => call.requestId,
      code: () => call.codeIfMade,
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
    const error = { code: RpcCode.badRequest, message: PERMISSION_ENDED };
    const body = printError(this.call.message.id, error);
    this.#endAtOnce(PERMISSION_ENDED, {
      outcome: "stopped",
      body,
      status: 403,
    });
  }

  #endAtOnce(reason: string, ending: Ending): void {
    // A client may cancel a call twice, if the tool ignored the first time.
    if (this.hasEnded) return;
    this.interrupt(reason);
    this.end(ending);
  }
}

/**
 * A request. MCP 2025 and 2026-07-28 each have a subclass, which asks the
 * client in its own way.
 */
export abstract class Call implements AskingCall, RunningCall {
  abstract readonly stateless: boolean;
  abstract readonly client: McpClient;
  abstract readonly printedLists: PrintedLists;
  abstract readonly logLevel?: Work["logLevel"];
  declare readonly sessionId?: string;
  /**
   * The time after which the response becomes a stream. Set for MCP 2026-07-28,
   * where a client cancels by closing the stream.
   */
  declare readonly slowMilliseconds?: number;
  readonly startedMilliseconds = performance.now();
  readonly execution = new CallExecution(this);
  /** True for a subscription, which does not outlive its credential. */
  isSubscription = false;
  /**
   * Gives back approvals and answers that the run has used. Called before the
   * call ends with a question, after which the tool runs from its start.
   */
  putBack?: () => Promise<unknown>;
  ifCut?: string;
  /** Sends the progress of a task to the client whose call waits for it. */
  relayProgress?: (progress: JsonObject) => Promise<void>;
  #context?: Context;
  #authorCode?: AuthorCode;
  #watch?: CallWatch;
  #requestId?: string;
  #limitKey?: LimitKey;
  #response?: PendingResponse;
  #pageQuestions?: PersonPages;

  /** @param response the response that the requests of a batch share */
  constructor(
    readonly engine: Engine,
    readonly message: RpcRequest,
    readonly admitted: AdmittedRequest,
    response?: PendingResponse,
  ) {
    this.#response = response;
  }

  get authenticated(): Authenticated {
    return this.admitted.authenticated;
  }
  get caller(): Caller {
    return this.authenticated.caller;
  }
  get limitKey(): LimitKey {
    const { admitted, engine: { trustedProxies } } = this;
    return this.#limitKey ??= limitKeyOf(admitted, trustedProxies);
  }
  get hasOrigin(): boolean {
    return this.admitted.hasOrigin;
  }
  get messageBytes(): number {
    return this.admitted.messageBytes;
  }
  get upstream(): Upstream | undefined {
    return this.authenticated.upstream;
  }
  get catalogue(): Catalogue {
    return this.admitted.catalogue;
  }
  get changes(): Work["changes"] {
    return this.engine.changes;
  }
  get params(): JsonObject {
    return this.message.params;
  }
  get meta(): JsonObject {
    return metaOf(this.params);
  }
  get progressToken(): Work["progressToken"] {
    return progressTokenOf(this.meta);
  }
  get context(): Context {
    return this.#context ??= new (this.engine.Context ?? CallContext)(this);
  }
  get authorCode(): AuthorCode {
    return this.#authorCode ??= new AuthorCode((message) =>
      warn(this, message)
    );
  }
  /**
   * The author's code; undefined until `authorCode` was first read, which
   * creates it.
   */
  get codeIfMade(): AuthorCode | undefined {
    return this.#authorCode;
  }
  /** Asks on pages; undefined if the caller cannot sign in there. */
  get pageQuestions(): PersonPages | undefined {
    return this.#pageQuestions ??= this.engine.waitPages?.questionsOf(this);
  }
  get requestId(): string {
    return this.#requestId ??= newReference();
  }
  get signal(): AbortSignal {
    return this.execution.signal;
  }
  get overSignal(): AbortSignal {
    return this.execution.overSignal;
  }
  isOver(): boolean {
    return this.execution.isOver;
  }
  /** Watches the call; created only for a call that does not end at once. */
  get watch(): CallWatch {
    return this.#watch ??= new CallWatch(this);
  }
  /** The response, created when something is sent before the result. */
  get response(): PendingResponse {
    return this.#response ??= this.pendingResponse();
  }
  /** The response; undefined until something was sent before the result. */
  get responseIfMade(): PendingResponse | undefined {
    return this.#response;
  }

  protected pendingResponse(): PendingResponse {
    return new PendingResponse(false, this);
  }

  get sending(): ResponseSending {
    const { limitKey, engine: { bodies }, admitted: { info } } = this;
    return responseSending(limitKey, bodies, info);
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    const { execution } = this;
    if (execution.hasEnded) return this.#authorCode?.goesOn();
    await this.response.send(printNotification(method, params));
    if (this.response.isStalled) execution.cancel("the client stopped reading");
  }

  /**
   * Asks the client, see {@linkcode Work.request}.
   *
   * @param signal aborts the wait when the answer is not needed any more
   */
  abstract request(
    question: AskedQuestion,
    signal?: AbortSignal,
  ): Promise<JsonObject>;

  abstract suspend(answer: () => MaybePromise<Answer>): Promise<void>;

  showLink(link: Link): Promise<never> {
    return this.pageQuestions?.show(link) ??
      this.engine.waitPages!.show(this, link);
  }

  abstract get isAsking(): boolean;

  /**
   * Returns the answer that the client sent with its request; undefined if
   * there is none.
   */
  recall(_question: AskedQuestion): JsonObject | undefined {
    return undefined;
  }

  /** True if the client disconnected before the answer. */
  hasLeft(): boolean {
    const { execution, admitted } = this;
    return !execution.hasEnded && admitted.request.signal.aborted;
  }

  /**
   * Aborts `signal` if the author's code was interrupted. So work that it
   * started in parallel ends, too.
   */
  stopIfInterrupted(): void {
    const reason = this.#authorCode?.reason;
    if (reason === undefined) return;
    this.execution.interrupt((reason as Error).message);
  }

  advise(message: string): void {
    advise(this, message);
  }

  async isLive(): Promise<boolean> {
    return (await this.authenticated.isLive?.() ?? true) === true;
  }

  async hasExpired(): Promise<boolean> {
    return this.isSubscription &&
      await this.authenticated.isAccepted?.() === false;
  }

  endTask(taskId: string, outcome: Outcome): void {
    reportTask(this, taskId, outcome);
  }
}

/**
 * The time without a byte after which a comment is sent: proxies close quiet
 * connections, some after 30 seconds. A quick MCP 2025 call gets JSON, not a
 * stream: some clients cannot read an event of more than 1 MiB (Python SDK
 * 2.3).
 */
const QUIET_MILLISECONDS = 15_000;

/** Keeps the response of a running call open. */
export class CallWatch {
  /**
   * Called at each beat of the timer, to watch the running tool or its task.
   */
  onBeat?: (nowMilliseconds: number) => void;

  #isHearing = false;

  constructor(private readonly call: Call) {}

  /**
   * Keeps a quiet response open: turns it into a stream, or sends a comment.
   */
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

  /** Notices a client that disconnects before its stream is opened. */
  #hear(): void {
    // From the first beat on only: reading the signal would slow down quick
    // calls.
    if (this.#isHearing) return;
    this.#isHearing = true;
    const { response, admitted: { request: { signal } } } = this.call;
    const leave = () => {
      if (!response.hasEnded) response.onGone?.();
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  }
}
