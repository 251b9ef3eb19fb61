/**
 * One request of a client in a test, with all of its rounds.
 *
 * @module
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import type { JsonObject } from "../json.ts";
import type { Catalogue } from "../protocol/catalogue.ts";
import { type Answers, AnswerScript } from "./answers.ts";
import {
  CAPABILITIES,
  CLIENT_INFO,
  type Post,
  readMessages,
  type ServerMessage,
  sessionPost,
  statelessPost,
} from "./client_messages.ts";
import type { CrashLog } from "./crash_log.ts";
import { type ProviderApi, TestUpstream } from "./provider_api.ts";
import { RefusedError } from "./refused.ts";
import type { TestCaller, TestGate } from "./test_gate.ts";

/** The generations of the protocol that a test can speak. */
export type TestRevision = "2025-11-25" | "2026-07-28";

/** How far a tool said it is. */
export interface Progress {
  /** What is done. */
  progress: number;
  /** What there is to do in all. */
  total?: number;
  /** The same in words. */
  message?: string;
}

/** What a tool logged for its client. */
export interface LogMessage {
  /** How severe it is. */
  level: LoggingLevel;
  /** What the tool logged. */
  data: unknown;
  /** The part of the tool that speaks. */
  logger?: string;
}

/** What a request meets on its way. All optional. */
export interface RequestOptions {
  /** Answers to what is asked; a question without one fails the test. */
  answers?: Answers;
  /** The provider's API behind the caller; without it there is none. */
  upstream?: ProviderApi;
  /** Cancels the request as a client does; it then rejects with the reason. */
  signal?: AbortSignal;
  /** The protocol the client speaks, that of the server's test by default. */
  revision?: TestRevision;
  /** What the client can do; by default everything. */
  capabilities?: Record<string, unknown>;
  /** Called while the work goes on. */
  onProgress?: (progress: Progress) => void;
}

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

/** A request of a client. */
export class TestRequest {
  readonly progress: Progress[] = [];
  readonly logs: LogMessage[] = [];
  readonly script: AnswerScript;
  readonly revision: TestRevision;
  readonly #upstream?: TestUpstream;
  readonly #headers: Record<string, string>;

  /** @param what what is asked of the server, for errors: `choose` */
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
   * Sends the request, answers what is asked, and gives its result.
   *
   * @throws {RefusedError} when the server refuses
   */
  async run(method: string, params: JsonObject = {}): Promise<JsonObject> {
    const { signal } = this.options;
    signal?.throwIfAborted();
    try {
      return this.revision === "2026-07-28"
        ? await this.#runRounds(method, params)
        : await this.#runInSession(method, params);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      this.checkRoutes();
    }
  }

  /** @throws {Error} when the tool called the provider where no route is */
  checkRoutes(): void {
    this.#upstream?.checkRoutes();
  }

  /** Sends one 2026 request; its answer may be a stream. */
  post(
    method: string,
    params: JsonObject,
    signal?: AbortSignal,
  ): Promise<Response> {
    const tool = method === "tools/call" &&
      this.target.catalogue.tools.get(`${params.name}`);
    const { capabilities } = this.options;
    const paramHeaders = tool ? tool.paramHeaders : undefined;
    return this.#send(
      statelessPost(method, params, { capabilities, paramHeaders }),
      signal,
    );
  }

  /** Sends one 2026 request and gives its result. */
  async ask(
    method: string,
    params: JsonObject,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    return await this.#read(await this.post(method, params, signal));
  }

  /** An error of the server. @throws {Error} what crashed, if that was it */
  refused(
    { code, message, data }: NonNullable<ServerMessage["error"]>,
    { status, headers }: Pick<Response, "status" | "headers">,
  ): RefusedError {
    this.target.crashes.rethrow(message, this.what);
    const needed = /\bscope="([^"]*)"/.exec(
      headers.get("www-authenticate") ?? "",
    )?.[1];
    const { subject = "anonymous", scopes = "all" } = this.caller;
    const granted = [scopes].flat().join(" ") || "none";
    const scopeAdvice = needed === undefined
      ? ""
      : ` It needs ${needed}; ${subject} has ${granted}.`;
    const knownTools = [...this.target.catalogue.tools.keys()].join(", ");
    const nameAdvice = message.startsWith("Unknown tool")
      ? `. The server has: ${knownTools || "no tools"}.`
      : "";
    const end = scopeAdvice === "" || /[.]$/.test(message) ? "" : ".";
    return new RefusedError(
      `${this.what} was refused (${status}, code ${code}): ` +
        `${message}${end}${scopeAdvice}${nameAdvice}`,
      status,
      code,
      data,
    );
  }

  async #runRounds(method: string, params: JsonObject): Promise<JsonObject> {
    let more: JsonObject = {};
    for (;;) {
      const result = await this.ask(
        method,
        { ...params, ...more },
        this.options.signal,
      );
      if (result.resultType !== "input_required") return result;
      // The function begins again, and tells everything once more.
      this.progress.length = this.logs.length = 0;
      const { inputRequests, requestState } = result;
      more = { requestState, inputResponses: this.answerAll(inputRequests) };
    }
  }

  /** Answers the questions of one round, by key. */
  answerAll(inputRequests: unknown): JsonObject {
    const questions = Object.entries(
      inputRequests as Record<string, { method: string; params: JsonObject }>,
    );
    return Object.fromEntries(
      questions.map(([key, { method, params }]) =>
        [key, this.script.answer(method, params, key)] as const
      ),
    );
  }

  async #runInSession(method: string, params: JsonObject): Promise<JsonObject> {
    const { capabilities = CAPABILITIES, signal } = this.options;
    const opened = await this.#send(sessionPost({
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: this.revision,
        capabilities,
        clientInfo: CLIENT_INFO,
      },
    }));
    await this.#read(opened);
    const sessionId = opened.headers.get("mcp-session-id")!;
    const post = (message: JsonObject) =>
      this.#send(sessionPost(message, sessionId));
    await post({ method: "notifications/initialized" });
    const level = { level: "debug" };
    await this.#read(
      await post({ id: 1, method: "logging/setLevel", params: level }),
    );

    const id = 2;
    const cancel = () =>
      post({ method: "notifications/cancelled", params: { requestId: id } });
    let cancelling: Promise<Response> | undefined;
    const onAbort = () => cancelling = cancel();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const _meta = { progressToken: "progress" };
      const request = { id, method, params: { ...params, _meta } };
      return await this.#read(
        await post(request),
        async ({ id, method, params = {} }) => {
          const result = this.script.answer(method!, params);
          await post({ id, result });
        },
      );
    } catch (error) {
      // A tool may still wait for an answer that it will not get.
      if (!(error instanceof RefusedError)) await (cancelling ?? cancel());
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async #read(
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

  #send({ headers, body }: Post, signal?: AbortSignal): Promise<Response> {
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
}
