/**
 * A request as its method and its author see it: the data, and the way back to
 * the client. `check()`, `run()` and `settle()` lead it to its end.
 *
 * @module
 */
import type { Context, McpClient } from "../../authoring/context.ts";
import type { Authenticated, Caller, Upstream } from "../../caller.ts";
import type { JsonObject } from "../../json.ts";
import { newReference, type Outcome } from "../../log/request.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Introduction } from "../../catalogue/introduction.ts";
import { printNotification, type RpcRequest } from "../../protocol/messages.ts";
import type { AskedQuestion } from "../../protocol/question.ts";
import { metaOf, progressTokenOf } from "../../protocol/request_meta.ts";
import { AuthoredRun, fire } from "./authored_run.ts";
import { CallContext } from "./call_context.ts";
import type { Work } from "./work.ts";
import { type CountedAs, countedAs } from "./caller_bound.ts";
import type { Admitted, Engine } from "./engine.ts";
import { PendingResponse } from "./pending_response.ts";
import type { Ending } from "./answer.ts";
import { aboutOf, report, reportTask } from "./report.ts";
import type { Running } from "./running.ts";
import { hasPage, type Link, PageQuestions } from "./page_questions.ts";

/**
 * The time without a byte after which a comment is sent, because proxies close
 * quiet connections: the impatient ones after 30 seconds. A quick 2025 call
 * stays JSON, because some clients read no event of more than 1 MiB (Python SDK
 * 2.3).
 */
const QUIET_MILLISECONDS = 15_000;

/** The advice that was logged, with its tool or method, by server. */
const ADVISED = new WeakMap<Engine, Set<string>>();

/** A request. Subclasses can ask the clients of their generation. */
export abstract class Call implements Work, Running {
  abstract readonly stateless: boolean;
  abstract readonly client: McpClient;
  abstract readonly introduction: Introduction;
  abstract readonly logLevel?: Work["logLevel"];
  declare readonly sessionId?: string;
  readonly startedMilliseconds = performance.now();
  ending?: Ending;
  /** Receives the end of the call, if someone waits for it. */
  onEnding?: (ending: Ending) => void;
  /** Called on each beat, for the running tool or the wait for its task. */
  onBeat?: (nowMilliseconds: number) => void;
  /** The task that does the work of this call, and reports its own end. */
  taskId?: string;
  /** Sends the progress of that task to a client whose call waits for it. */
  relayProgress?: (progress: JsonObject) => Promise<void>;
  #context?: Context;
  #authored?: AuthoredRun;
  #abort?: AbortController;
  #requestId?: string;
  #countedAs?: CountedAs;
  #response?: PendingResponse;
  #pageQuestions?: PageQuestions;

  /** @param response the response that all requests of a batch share */
  constructor(
    readonly engine: Engine,
    readonly message: RpcRequest,
    readonly admitted: Admitted,
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
  get countedAs(): CountedAs {
    const { admitted, engine: { trustedProxies } } = this;
    return this.#countedAs ??= countedAs(admitted, trustedProxies);
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
    return this.#context ??= new CallContext(this);
  }
  get authored(): AuthoredRun {
    return this.#authored ??= new AuthoredRun((message) => this.warn(message));
  }
  /** The questions that a person answers on a page. Only tools have them. */
  get pageQuestions(): PageQuestions | undefined {
    const { engine: { waitPages }, caller, message, params } = this;
    if (!waitPages || message.method !== "tools/call") return undefined;
    if (!hasPage(caller, waitPages)) return undefined;
    const { arguments: given = {} } = params;
    const tool = params.name as string;
    return this.#pageQuestions ??= new PageQuestions(
      waitPages,
      caller,
      tool,
      given,
    );
  }
  get requestId(): string {
    return this.#requestId ??= newReference();
  }
  get signal(): AbortSignal {
    return (this.#abort ??= new AbortController()).signal;
  }
  /** The response, created when something has to be sent before the result. */
  get response(): PendingResponse {
    return this.#response ??= this.pendingResponse();
  }
  /** The response, if it was created. */
  get begun(): PendingResponse | undefined {
    return this.#response;
  }
  get hasEnded(): boolean {
    return this.ending !== undefined;
  }
  /** True once the call was cancelled or stopped. */
  get isStopped(): boolean {
    return this.#abort?.signal.aborted === true;
  }

  protected pendingResponse(): PendingResponse {
    return new PendingResponse();
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    if (this.hasEnded) return this.#authored?.goesOn();
    await this.response.send(printNotification(method, params));
    if (this.response.isStalled) this.cancel("the client stopped reading");
  }

  /**
   * Asks the client, as {@linkcode Work.request} says.
   *
   * @param signal ends the wait for an answer that is no longer wanted
   */
  abstract request(
    question: AskedQuestion,
    signal?: AbortSignal,
  ): Promise<JsonObject>;

  abstract showLink(link: Link): Promise<never>;

  /** True while a question to the client is open. */
  abstract get isAsking(): boolean;

  /** Finds the answer that the client has sent along for a question. */
  recall(_question: AskedQuestion): JsonObject | undefined {
    return undefined;
  }

  /** Keeps a quiet response open: the first comment makes it a stream. */
  beat(nowMilliseconds: number): void {
    this.onBeat?.(nowMilliseconds);
    if (this.hasEnded) return;
    const { response, startedMilliseconds } = this;
    const last = Math.max(startedMilliseconds, response.lastSentMilliseconds);
    if (nowMilliseconds - last < QUIET_MILLISECONDS) return;
    if (response.isStream) response.comment();
    else response.open();
  }

  cancel(reason: string): void {
    this.#stopUnanswered(reason, "cancelled");
  }

  expel(): void {
    this.#stopUnanswered(
      "The permission for this call has ended, or is paused",
      "stopped",
    );
  }

  /** Stops the tool, and ends the call without an answer. */
  #stopUnanswered(reason: string, outcome: Outcome): void {
    // A later cancellation may still find a tool that ignored the first.
    if (this.hasEnded) return;
    this.stop(reason);
    this.end({ outcome });
  }

  /** Ends the call, once, and reports its end. */
  end(ending: Ending): void {
    this.ending = ending;
    try {
      report(this, ending, this.taskId);
    } catch {
      // A report that fails ends nothing.
    }
    this.onEnding?.(ending);
  }

  stop(reason: string): void {
    const { log } = this.engine;
    const abort = this.#abort ??= new AbortController();
    fire(abort, reason, { log, reference: () => this.requestId });
  }

  /** Aborts `signal` for parallel work if the author's code was interrupted. */
  stopIfInterrupted(): void {
    const reason = this.#authored?.reason;
    if (reason !== undefined) this.stop((reason as Error).message);
  }

  advise(message: string): void {
    const { method, tool = method } = aboutOf(this);
    const advice = `${tool} ${message}`;
    const advised = ADVISED.get(this.engine) ?? new Set();
    if (advised.has(advice)) return;
    ADVISED.set(this.engine, advised.add(advice));
    this.warn(message);
  }

  /** Logs a warning for the author. */
  protected warn(message: string): void {
    const reference = this.requestId;
    this.engine.log.warning(message, { reference, ...aboutOf(this) });
  }

  async isLive(): Promise<boolean> {
    return await this.authenticated.isLive?.() ?? true;
  }

  endTask(taskId: string, outcome: Outcome): void {
    reportTask(this, taskId, outcome);
  }
}
