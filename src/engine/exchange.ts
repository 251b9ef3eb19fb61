/**
 * One request from its checks to its answer. It runs a method, is the channel
 * back to the client meanwhile, and ends as JSON or as a stream.
 *
 * @module
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import type { Authenticated } from "../caller.ts";
import { randomId } from "../crypto.ts";
import type { TaskStore } from "../store/tasks.ts";
import {
  jsonResponse,
  PendingResponse,
  resultBody,
} from "./pending_response.ts";
import type { Around } from "../authoring/around.ts";
import type { Context, McpClient } from "../authoring/context.ts";
import type { Catalogue, Introduction } from "../protocol/catalogue.ts";
import {
  CallContext,
  type CallSettings,
  type Channel,
} from "./call_context.ts";
import { Suspended } from "../protocol/inquiry.ts";
import type { JsonObject } from "../json.ts";
import {
  printNotification,
  type RequestId,
  type RpcRequest,
} from "../protocol/messages.ts";
import type { Call, Method, Printed } from "./call.ts";
import { internalRefusal, refusalOf } from "./refusal.ts";
import {
  metaOf,
  progressTokenOf,
  traceIdOf,
} from "../protocol/request_meta.ts";
import type { Running } from "./running.ts";
import type { Engine } from "./engine.ts";

/** What an {@linkcode Exchange} knows about its request. */
export interface ExchangeSettings {
  engine: Engine;
  message: RpcRequest;
  authenticated: Authenticated;
  client: McpClient;
  logLevel?: LoggingLevel;
  introduction: Introduction;
  /** Where the answer goes when it is part of a batch. */
  answer?: PendingResponse;
}

/** A request on its way. Subclasses know how to ask their generation's clients. */
export abstract class Exchange implements Call, CallSettings, Running {
  readonly engine: Engine;
  readonly message: RpcRequest;
  readonly authenticated: Authenticated;
  readonly client: McpClient;
  readonly logLevel?: LoggingLevel;
  readonly introduction: Introduction;
  readonly startedMilliseconds: number;
  abstract readonly stateless: boolean;
  #answer?: PendingResponse;
  #context?: Context;
  #abort?: AbortController;
  #requestId?: string;
  #isCancelled = false;

  constructor(settings: ExchangeSettings) {
    this.engine = settings.engine;
    this.startedMilliseconds = this.engine.clock();
    this.message = settings.message;
    this.authenticated = settings.authenticated;
    this.client = settings.client;
    this.logLevel = settings.logLevel;
    this.introduction = settings.introduction;
    this.#answer = settings.answer;
  }

  get catalogue(): Catalogue {
    return this.engine.catalogue;
  }
  get params(): JsonObject {
    return this.message.params;
  }
  get context(): Context {
    return this.#context ??= new CallContext(this);
  }
  get caller() {
    return this.authenticated.caller;
  }
  get upstream() {
    return this.authenticated.upstream;
  }
  get changes() {
    return this.engine.changes;
  }
  get tasks(): TaskStore {
    return this.engine.tasks;
  }
  get around(): Around | undefined {
    return this.engine.around;
  }
  get channel(): Channel {
    return this;
  }
  get meta(): JsonObject {
    return metaOf(this.message.params);
  }
  get progressToken(): RequestId | undefined {
    return progressTokenOf(this.meta);
  }
  get requestId(): string {
    return this.#requestId ??= randomId(12);
  }
  get answer(): PendingResponse {
    return this.#answer ??= new PendingResponse(this.engine.clock);
  }
  get signal(): () => AbortSignal {
    return () => this.#controller.signal;
  }

  /** Runs a method. Never rejects: a refusal is an answer too. */
  run(method: Method): Response | Promise<Response> {
    let result;
    try {
      result = method(this);
    } catch (error) {
      return this.refuse(error);
    }
    return result instanceof Promise
      ? this.#linger(result)
      : this.#finish(result);
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.answer.send(printNotification(method, params));
  }

  abstract request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject>;

  cancel(reason: string): void {
    // A cancellation is found again for as long as the tool ignores it.
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#controller.abort(new DOMException(reason, "AbortError"));
    this.#answer?.abandon();
    this.#log("cancelled");
  }

  stop(): void {
    this.#controller.abort(new DOMException("The server stops", "AbortError"));
  }

  report(error: unknown): void {
    // What a cancelled tool throws on its way out is no error.
    if (this.#abort?.signal.aborted) return;
    this.engine.log.error("Internal error", {
      reference: this.requestId,
      ...this.#what,
      error,
    });
  }

  #linger(result: Promise<Printed>): Promise<Response> {
    const { running } = this.engine;
    const { response } = this.answer;
    running.add(this);
    result
      .then((printed) => this.#finish(printed), (error) => this.refuse(error))
      .finally(() => running.delete(this));
    return response;
  }

  #finish(result: Printed): Response | Promise<Response> {
    if (this.#answer?.hasEnded) return this.#answer.response;
    this.#log("ok");
    return this.#end(resultBody(this.message.id, result));
  }

  /** Ends with a refusal, unless there is an answer already. */
  protected refuse(error: unknown): Response | Promise<Response> {
    if (error instanceof Suspended || this.#answer?.hasEnded) {
      return this.answer.response;
    }
    const { id } = this.message;
    let refusal = refusalOf(error, id, this.engine.gate, this.stateless);
    if (!refusal) {
      this.report(error);
      refusal = internalRefusal(this.requestId, id);
    }
    this.#log(refusal.outcome);
    return this.#end(refusal.body, refusal.status, refusal.headers);
  }

  #end(
    body: Printed,
    status?: number,
    headers?: Readonly<Record<string, string>>,
  ): Response | Promise<Response> {
    if (!this.#answer) return jsonResponse(body, status, headers);
    this.#answer.end(body, status, headers);
    return this.#answer.response;
  }

  /** Made when somebody first looks, or when there is something to see. */
  get #controller(): AbortController {
    return this.#abort ??= new AbortController();
  }

  get #what() {
    const { method, params } = this.message;
    // A name that nothing has is the client's text, and stays out of the log.
    return {
      method,
      tool: this.catalogue.tools.get(params.name as string)?.name,
    };
  }

  #log(outcome: string): void {
    const { log } = this.engine;
    if (!log.isEnabledFor("info")) return;
    log.info("Request", {
      requestId: this.requestId,
      traceId: traceIdOf(this.meta),
      ...this.#what,
      durationMilliseconds: this.engine.clock() - this.startedMilliseconds,
      outcome,
    });
  }
}
