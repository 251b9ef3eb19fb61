/**
 * The messages between a client and a server over one request.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import type { Catalogue } from "../protocol/catalogue.ts";
import { AnswerScript } from "./answers.ts";
import {
  type Post,
  readMessages,
  type RpcErrorObject,
  type ServerMessage,
} from "./client_messages.ts";
import type { CrashLog } from "./crash_log.ts";
import { TestUpstream } from "./provider_api.ts";
import { RefusedError, refusedWords } from "./refused.ts";
import type {
  LogMessage,
  Progress,
  RequestOptions,
  TestRevision,
} from "./request_options.ts";
import type { TestCaller, TestGate } from "./test_gate.ts";

/** The server that requests go to. */
export interface Target {
  /** The address of `/mcp`. */
  readonly mcpUrl: string;
  readonly revision: TestRevision;
  readonly gate: TestGate;
  readonly crashes: CrashLog;
  readonly catalogue: Catalogue;
  send(request: Request): Promise<Response>;
}

/** Sends messages to a server and collects everything that comes back. */
export class Conversation {
  readonly progress: Progress[] = [];
  readonly logs: LogMessage[] = [];
  readonly script: AnswerScript;
  readonly revision: TestRevision;
  readonly #upstream?: TestUpstream;
  readonly #headers: Record<string, string>;

  /** @param what the name of the request's target, for errors: `choose` */
  constructor(
    readonly target: Target,
    readonly what: string,
    private readonly caller: TestCaller,
    readonly options: RequestOptions = {},
  ) {
    this.revision = options.revision ?? target.revision;
    this.script = new AnswerScript(what, options.answers);
    this.#upstream = options.upstream && new TestUpstream(options.upstream);
    this.#headers = target.gate.admit(caller, this.#upstream);
  }

  /**
   * @throws {Error} if the tool called the provider at a path without a route
   */
  checkRoutes(): void {
    this.#upstream?.checkRoutes();
  }

  /**
   * Makes the error for a refusal. @throws {Error} the tool's exception, if it
   * was a crash
   */
  refused(error: RpcErrorObject, response: Response): RefusedError {
    const { target, what, caller } = this;
    target.crashes.rethrow(error.message, what);
    const { code, data } = error;
    const tools = [...target.catalogue.tools.keys()];
    const words = refusedWords(error, response, { what, caller, tools });
    return new RefusedError(words, response.status, code, data);
  }

  /** Posts a message as the caller. */
  protected send(
    { headers, body }: Post,
    signal?: AbortSignal,
  ): Promise<Response> {
    const { target } = this;
    return target.send(
      new Request(target.mcpUrl, {
        method: "POST",
        headers: { ...headers, ...this.#headers },
        body: JSON.stringify(body),
        signal,
      }),
    );
  }

  /** The result at the end of an answer. @throws {RefusedError} */
  protected async read(
    response: Response,
    onQuestion?: (question: ServerMessage) => Promise<void>,
  ): Promise<JsonObject> {
    for await (const message of readMessages(response)) {
      if (message.error) throw this.refused(message.error, response);
      if (message.result) return message.result;
      if (message.id !== undefined) await onQuestion?.(message);
      else this.#notice(message);
    }
    throw new Error(`${this.what} ended without a result`);
  }

  #notice({ method, params = {} }: ServerMessage): void {
    if (method === "notifications/message") {
      this.logs.push(params as unknown as LogMessage);
    } else if (method === "notifications/progress") {
      const { progressToken: _, ...progress } = params;
      this.progress.push(progress as unknown as Progress);
      this.options.onProgress?.(progress as unknown as Progress);
    }
  }
}
