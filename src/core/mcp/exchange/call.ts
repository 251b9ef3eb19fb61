/**
 * A request as its method and its author see it: its data, and ways to reach
 * the client. Handled by `checkCall()`, `runCall()` and `settleCall()`; ends
 * when its `execution` ends.
 *
 * @module
 */
import type { Context, McpClient } from "../../../authoring/context.ts";
import type { Authenticated, Caller, Upstream } from "../../caller.ts";
import type { JsonObject } from "../../json.ts";
import { newReference, type Outcome } from "../../log/request.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { PrintedLists } from "../../catalogue/printed_lists.ts";
import { printNotification, type RpcRequest } from "../../protocol/messages.ts";
import type { AskedQuestion } from "../../protocol/question.ts";
import { metaOf, progressTokenOf } from "../../protocol/request_meta.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { Answer } from "./answer.ts";
import { AuthorCode } from "./author_code.ts";
import { CallContext } from "./call_context.ts";
import { CallExecution } from "./call_execution.ts";
import type { AskingCall, Link, PersonPages, Work } from "./work.ts";
import { type LimitKey, limitKeyOf } from "./caller_bound.ts";
import type { AdmittedRequest, Engine } from "./engine.ts";
import type { ResponseSending } from "../../http/outgoing_body.ts";
import { sendingTo } from "./long_messages.ts";
import { PendingResponse } from "./pending_response.ts";
import { advise, reportTask, warn } from "./report.ts";
import type { RunningCall } from "./running.ts";

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
  get startedCode(): AuthorCode | undefined {
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
  get startedResponse(): PendingResponse | undefined {
    return this.#response;
  }

  protected pendingResponse(): PendingResponse {
    return new PendingResponse(false, this);
  }

  get sending(): ResponseSending {
    const { limitKey, engine: { bodies }, admitted: { info } } = this;
    return sendingTo(limitKey, bodies, info);
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
    return await this.authenticated.isLive?.() ?? true;
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
      if (!response.hasEnded) response.onGone();
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  }
}
