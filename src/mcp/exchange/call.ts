/**
 * One request from its checks to its answer: the data for its method, and the
 * way back to its client.
 *
 * @module
 */
import { askable } from "../../log/thrown.ts";
import type { LoggingLevel } from "@modelcontextprotocol/server";
import type { Authenticated, Caller, Upstream } from "../../caller.ts";
import { ChallengeError, LimitError } from "../../errors.ts";
import { logFailure } from "../../log/failures.ts";
import { shortClientId } from "../../auth/rules/client_id.ts";
import { newReference, shortHash } from "../../log/reference.ts";
import type { Context, McpClient } from "../../authoring/context.ts";
import type { Catalogue, Introduction } from "../catalogue/catalogue.ts";
import { Suspended } from "../wire/inquiry.ts";
import type { JsonObject } from "../../json.ts";
import type { Outcome } from "../../log/outcome.ts";
import {
  printNotification,
  printResult,
  type RequestId,
  type RpcRequest,
} from "../wire/messages.ts";
import { metaOf, progressTokenOf, traceIdOf } from "../wire/request_meta.ts";
import { errorResult } from "../wire/tool_result.ts";
import { fire } from "./abort.ts";
import { AuthoredRun, LATE } from "./authored_run.ts";
import { CallContext, type Work } from "./call_context.ts";
import { type CountedAs, countedAs } from "./counted_as.ts";
import type { Admitted, Engine } from "./engine.ts";
import { noteCall } from "./noted.ts";
import { type Ending, PendingResponse } from "./pending_response.ts";
import { internalRefusal, type Refusal, refusalOf } from "./refusal.ts";
import { jsonResponse } from "./response.ts";
import type { Running } from "./running.ts";
import { type MaybePromise, then } from "./then.ts";

/**
 * The time without a byte after which a comment is sent, because proxies close
 * quiet connections: the impatient ones after 30 seconds. A quick 2025 call
 * stays JSON, because some clients read no event of more than 1 MiB (Python SDK
 * 2.3).
 */
const QUIET_MILLISECONDS = 15_000;

/** The tools, and the other methods, whose authors were advised. */
const ADVISED = new WeakMap<Engine, Set<string>>();

/** Answers a method with the JSON text of its result. @throws {RpcError} */
export type Method<C extends Call = Call> = (call: C) => MaybePromise<string>;

/**
 * A request that has passed every check before its method. Subclasses can ask
 * the clients of their generation.
 */
export abstract class Call implements Work, Running {
  /** True if the client belongs to the generation without sessions. */
  abstract readonly stateless: boolean;
  abstract readonly client: McpClient;
  abstract readonly introduction: Introduction;
  abstract readonly logLevel?: LoggingLevel;
  /** The 2025 session it belongs to. */
  readonly sessionId?: string;
  readonly startedMilliseconds: number;
  /** The outcome for the log, if its method gives a result. */
  outcome: Outcome = "ok";
  /** The task that goes on after it, and reports its own end. */
  taskId?: string;
  #context?: Context;
  #authored?: AuthoredRun;
  #abort?: AbortController;
  #requestId?: string;
  #countedAs?: CountedAs;
  #response?: PendingResponse;
  #hasEnded = false;
  #warned?: Set<string>;
  #ending?: Ending;
  /** Receives the ending, if it is waited for. */
  #onEnding?: (ending: Ending | undefined) => void;

  readonly #isInBatch: boolean;

  /** @param response the response that all requests of a batch share */
  constructor(
    readonly engine: Engine,
    readonly message: RpcRequest,
    readonly admitted: Admitted,
    response?: PendingResponse,
  ) {
    this.#response = response;
    this.#isInBatch = response !== undefined;
    this.startedMilliseconds = engine.clock();
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
  get progressToken(): RequestId | undefined {
    return progressTokenOf(this.meta);
  }
  get context(): Context {
    return this.#context ??= new CallContext(this);
  }
  get authored(): AuthoredRun {
    return this.#authored ??= new AuthoredRun((reason) =>
      this.#warnOfLate(reason)
    );
  }
  get requestId(): string {
    return this.#requestId ??= newReference();
  }
  get signal(): AbortSignal {
    return this.#controller.signal;
  }
  /** Created if something has to be sent before the result. */
  get response(): PendingResponse {
    return this.#response ??= this.pendingResponse();
  }
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Runs a method and gives the response as soon as it begins. */
  respond(method: Method<this>): MaybePromise<Response> {
    const ending = this.run(method);
    if (ending instanceof Promise) {
      ending.then((ending) => this.response.end(ending));
    } else if (ending && !this.#response) {
      return jsonResponse(ending.body, ending.status, ending.headers);
    } else {
      this.response.end(ending);
    }
    return this.response.response;
  }

  /**
   * Runs a method until its request is answered; undefined if the client no
   * longer wants an answer. Never rejects: a refusal is an answer too.
   */
  run(method: Method<this>): MaybePromise<Ending | undefined> {
    const { running, limits } = this.engine;
    this.admitted.operation?.take();
    try {
      running.check(this);
      const charged = limits.charge(this.message.method, this);
      const result = then(charged, () => method(this));
      if (result instanceof Promise) return this.#linger(result);
      this.#finish(result);
    } catch (error) {
      this.refuse(error);
    }
    return this.#ending;
  }

  /** Makes a call that goes on findable, so that it can be cancelled. */
  #linger(result: Promise<string>): Promise<Ending | undefined> {
    const { running } = this.engine;
    running.add(this);
    result.then((text) => this.#finish(text))
      .catch((error) => this.refuse(error))
      .finally(() => {
        running.delete(this);
        // Parallel work of a run that was cut ends too.
        const cut = this.#authored?.reason;
        if (cut !== undefined) this.stop((cut as Error).message);
      });
    return new Promise((resolve) => this.#onEnding = resolve);
  }

  #finish(result: string): void {
    const { outcome, message: { id } } = this;
    const wasStopped = this.#abort?.signal.aborted;
    const isToolError = outcome === "tool_error" ||
      outcome === "internal_error";
    this.end(
      { body: printResult(id, result), isToolError },
      wasStopped ? "stopped" : outcome,
    );
  }

  protected pendingResponse(): PendingResponse {
    return new PendingResponse(this.engine.clock);
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    if (this.#hasEnded) return this.#authored?.goesOn();
    await this.response.send(printNotification(method, params));
    if (this.response.isStalled) this.cancel("the client stopped reading");
  }

  abstract request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject>;

  /** Keeps a quiet response open: the first comment makes it a stream. */
  beat(nowMilliseconds: number): void {
    const { response, startedMilliseconds } = this;
    const last = Math.max(startedMilliseconds, response.lastSentMilliseconds);
    if (nowMilliseconds - last < QUIET_MILLISECONDS) return;
    if (response.isStream) response.comment();
    else response.open();
  }

  cancel(reason: string): void {
    // A later cancellation may still find a tool that ignored the first.
    if (this.#hasEnded) return;
    this.stop(reason);
    this.end(undefined, "cancelled");
  }

  stop(reason: string): void {
    const { log } = this.engine;
    fire(this.#controller, reason, { log, reference: () => this.requestId });
  }

  /** True once it was cancelled or told to stop. */
  protected get isStopped(): boolean {
    return this.#abort?.signal.aborted === true;
  }

  /** Warns of a run that goes on; of a cancelled one that is no fault. */
  #warnOfLate(reason: unknown): void {
    if (reason instanceof Suspended) this.warn(LATE.question);
    else if (reason instanceof ChallengeError) this.warn(LATE.challenge);
  }

  advise(message: string): void {
    const { engine, message: { method } } = this;
    const told = ADVISED.get(engine) ?? new Set();
    const whose = this.#what.tool ?? method;
    if (told.has(whose)) return;
    ADVISED.set(engine, told.add(whose));
    this.warn(message);
  }

  /** Tells the log, once, what the author should know of a run. */
  protected warn(message: string): void {
    if (this.#warned?.has(message)) return;
    (this.#warned ??= new Set()).add(message);
    const { name } = this.params;
    this.engine.log.warning(message, {
      reference: this.requestId,
      ...this.#what,
      prompt: this.message.method === "prompts/get"
        ? this.catalogue.prompts.get(name as string)?.name
        : undefined,
    });
  }

  /** Logs an exception under the request's reference. */
  report(error: unknown): void {
    // An exception of a cancelled tool is no error.
    if (this.#abort?.signal.aborted) return;
    this.engine.log.error("Internal error", {
      reference: this.requestId,
      ...this.#what,
      error,
    });
  }

  async isLive(): Promise<boolean> {
    return await this.authenticated.isLive?.() ?? true;
  }

  expel(): void {
    const reason = "The permission for this call has ended, or is paused";
    if (this.#abort?.signal.aborted) this.cancel(reason);
    else this.stop(reason);
  }

  endTask(taskId: string, outcome: Outcome): void {
    this.#note(outcome);
    this.#log(outcome, undefined, taskId);
  }

  /** Records the outcome of a tool call in the ledger of its person. */
  #note(outcome: Outcome): void {
    const { engine: { ledger }, message, startedMilliseconds } = this;
    if (!ledger) return;
    noteCall(ledger, message, this, { outcome, startedMilliseconds });
  }

  /** Ends with a refusal, unless there is an answer already. Never throws. */
  protected refuse(thrown: unknown): void {
    try {
      this.#refuse(askable(thrown));
    } catch (cause) {
      // An author's error may hold what cannot be read, or not be printed.
      this.#refuse(new Error("An error that cannot be told", { cause }));
    }
  }

  #refuse(error: unknown): void {
    if (error instanceof Suspended || this.#hasEnded) return;
    const { message: { id, method }, engine: { gate }, stateless } = this;
    const { request } = this.admitted;
    const inBand = this.#isInBatch || this.#response?.isStream === true;
    let refusal = this.#limitInWords(error) ??
      refusalOf(error, { id, gate, request, stateless, inBand });
    if (!refusal) {
      this.report(error);
      refusal = internalRefusal(this.requestId, id);
    } else if ((refusal.status ?? 200) >= 500) {
      const reference = this.requestId;
      logFailure(this.engine.log, error, { reference, ...this.#what });
    }
    if (refusal.inWords !== undefined && method === "tools/call") {
      // A failure while the tool ran is a result, for the model to read.
      const { printer } = this.introduction;
      const result = printer.result(errorResult(refusal.inWords));
      refusal.body = printResult(id, result);
      refusal.code = undefined;
      refusal.isToolError = true;
    }
    this.end(refusal, refusal.outcome, refusal.reason);
  }

  /**
   * Turns a limit into a tool result: no client shows the model an HTTP status.
   */
  #limitInWords(error: unknown): Refusal | undefined {
    const { id, method } = this.message;
    if (!(error instanceof LimitError) || method !== "tools/call") {
      return undefined;
    }
    const { message: reason } = error;
    const result = this.introduction.printer.result(errorResult(reason));
    const body = printResult(id, result);
    return { body, isToolError: true, outcome: "refused", reason };
  }

  /** Answers the request, once. */
  protected end(
    ending: Ending | undefined,
    outcome: Outcome,
    refusal?: string,
  ): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.taskId === undefined) this.#note(outcome);
    if (this.admitted.operation) this.#tell(ending, outcome, refusal);
    else this.#log(outcome, refusal);
    this.#ending = ending;
    this.#onEnding?.(ending);
  }

  /** Logs the end under the call's span, whatever ended the call. */
  #tell(ending: Ending | undefined, outcome: Outcome, refusal?: string): void {
    const { admitted: { operation }, client, requestId } = this;
    operation!.run(() => this.#log(outcome, refusal));
    operation!.end({
      outcome,
      code: ending?.code,
      isToolError: ending?.isToolError,
      revision: client.revision,
      reference: requestId,
    });
  }

  /** Created when it is first needed. */
  get #controller(): AbortController {
    return this.#abort ??= new AbortController();
  }

  get #what() {
    const { method, params } = this.message;
    // An unknown name is the client's text, and stays out of the log.
    return {
      method,
      tool: this.catalogue.tools.get(params.name as string)?.name,
    };
  }

  /**
   * @param endedTask the task whose end is logged, in place of the request's
   */
  #log(outcome: Outcome, refusal?: string, endedTask?: string): void {
    const { log } = this.engine;
    if (!log.isEnabledFor("info")) return;
    const { subject, clientId, grantId, door } = this.caller;
    log.info(endedTask ? "Task" : "Request", {
      reference: endedTask ?? this.requestId,
      traceId: traceIdOf(this.meta),
      subject,
      clientId: clientId && shortClientId(clientId),
      grantId,
      door,
      session: this.sessionId && shortHash(this.sessionId),
      ...this.#what,
      task: endedTask ? undefined : this.taskId,
      durationMilliseconds: this.engine.clock() - this.startedMilliseconds,
      outcome,
      refusal,
    });
  }
}
