/**
 * An MCP client of both generations: sessions of 2025 and requests of
 * 2026-07-28, with questions, progress and tasks.
 *
 * @module
 * @see MCP 2025-11-25 and 2026-07-28, Streamable HTTP
 */

/** A JSON object of the wire; its members may be anything. */
export type Json = Record<string, unknown>;

/** The generations of the protocol that the client speaks. */
export type Revision = "2025-11-25" | "2026-07-28";

/** A message of a server. */
export interface Message {
  id?: string | number;
  method?: string;
  params?: Json;
  result?: Json;
  error?: { code: number; message: string; data?: unknown };
}

/** An error that a server answered with; its message is the server's. */
export interface ServerError extends Error {
  /** The JSON-RPC error code. */
  code: number;
  /** More data, depending on the code. */
  data?: unknown;
  /** The HTTP response that held it; its body has been read. */
  response: Response;
}

/** A question of a server to its client. */
export interface Question {
  /** `elicitation/create`, `sampling/createMessage` or `roots/list`. */
  method: string;
  params: Json;
  /** The question's name within its request; 2025 has none. */
  key?: string;
}

/** A task in the form of the wire. */
export interface TaskState extends Json {
  taskId: string;
  status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  statusMessage?: string;
}

/** The parts of a listed tool that the client needs. */
export interface ListedTool {
  name: string;
  inputSchema: Json;
}

/** The server's address, and the callbacks and abilities of the client. */
export interface ClientOptions {
  /** The address of `/mcp`. */
  url: string;
  revision?: Revision;
  /** Sends a request; the global `fetch` by default. */
  fetch?: (request: Request) => Response | Promise<Response>;
  /** Headers of every request, such as `authorization`. */
  headers?: () => Record<string, string>;
  clientInfo?: { name: string; version: string };
  capabilities?: Json;
  /**
   * The least severe log messages that the server should send; none by default.
   */
  logLevel?: string;
  /** The tools as listed: some require arguments to be repeated in headers. */
  tools?: readonly ListedTool[];
  /** Answers a question. Without it a question is an error. */
  onQuestion?: (question: Question) => Json | Promise<Json>;
  /**
   * Called with `notifications/progress`, `notifications/message` and the like.
   */
  onNotification?: (method: string, params: Json) => void;
  /** Called with the state of the task that a request became. */
  onTask?: (task: TaskState) => void;
  /** Called before a request begins again with the answers of one round. */
  onRound?: () => void;
}

/** The options of one request. */
export interface RequestOptions {
  /** Cancels the request in the way of its protocol revision. */
  signal?: AbortSignal;
}

/**
 * A client of one server, as one caller.
 *
 * The class uses nothing of its module: the development page for views runs
 * its text in a browser.
 *
 * @example
 * ```ts
 * import { Client } from "./client.ts";
 *
 * const client = new Client({
 *   url: "http://localhost/mcp",
 *   fetch: () => Response.json({ jsonrpc: "2.0", id: 1, result: { tools: [] } }),
 * });
 * const { tools } = await client.request("tools/list");
 * ```
 */
export class Client {
  readonly revision: Revision;
  readonly #options: ClientOptions;
  #session?: Promise<string | null>;
  #introduction?: Json;
  #lastId = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.revision = options.revision ?? "2026-07-28";
  }

  /**
   * Sends a request, answers the questions it raises, waits for the task it may
   * become, and gives its result.
   *
   * @throws {ServerError} if the server answers with an error
   */
  async request(
    method: string,
    params: Json = {},
    options: RequestOptions = {},
  ): Promise<Json> {
    const result = await this.begin(method, params, options);
    if (result.resultType !== "task") return result;
    return await this.follow(result as TaskState, options);
  }

  /**
   * Sends a request and answers its questions; the result may be a task.
   *
   * @throws {ServerError}
   */
  async begin(
    method: string,
    params: Json = {},
    { signal }: RequestOptions = {},
  ): Promise<Json> {
    signal?.throwIfAborted();
    try {
      return this.revision === "2026-07-28"
        ? await this.#requestInRounds(method, params, signal)
        : await this.#requestInSession(method, params, signal);
    } catch (error) {
      // A stream that was cut by the signal is not an error of its own.
      signal?.throwIfAborted();
      throw error;
    }
  }

  async #requestInRounds(
    method: string,
    params: Json,
    signal?: AbortSignal,
  ): Promise<Json> {
    let more: Json = {};
    for (;;) {
      const response = await this.post(method, { ...params, ...more }, signal);
      const result = await this.read(response);
      if (result.resultType !== "input_required") return result;
      this.#options.onRound?.();
      const { inputRequests, requestState } = result;
      const inputResponses = await this.#answerAll(inputRequests as Json);
      more = { requestState, inputResponses };
    }
  }

  /** Posts one request of 2026-07-28; its answer may be a stream. */
  post(
    method: string,
    params: Json = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const { clientInfo, capabilities = {}, logLevel } = this.#options;
    const prefix = "io.modelcontextprotocol/";
    const _meta = {
      [`${prefix}protocolVersion`]: this.revision,
      [`${prefix}clientInfo`]: clientInfo ?? Client.#INFO,
      [`${prefix}clientCapabilities`]: capabilities,
      ...(logLevel !== undefined && { [`${prefix}logLevel`]: logLevel }),
      progressToken: ++this.#lastId,
    };
    const name = params.name ?? params.uri ?? params.taskId;
    return this.#send(
      { id: this.#lastId, method, params: { ...params, _meta } },
      {
        "mcp-protocol-version": this.revision,
        "mcp-method": method,
        ...(typeof name === "string" && { "mcp-name": Client.#printed(name) }),
        ...(method === "tools/call" && this.#argumentHeaders(params)),
      },
      signal,
    );
  }

  /**
   * Reads the result at the end of an answer; earlier messages are passed on.
   *
   * @throws {ServerError}
   */
  async read(
    response: Response,
    onQuestion?: (question: Message) => Promise<void>,
  ): Promise<Json> {
    for await (const message of this.messages(response)) {
      if (message.error) throw this.failure(message.error, response);
      if (message.result) return message.result;
      const { id, method, params = {} } = message;
      if (id !== undefined) await onQuestion?.(message);
      else if (method) this.#options.onNotification?.(method, params);
    }
    throw new Error(`The answer (${response.status}) ended without a result`);
  }

  /**
   * Yields the messages of an answer: one if it is JSON, or all those of its
   * stream.
   */
  async *messages(response: Response): AsyncGenerator<Message> {
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream")) {
      const text = await response.text();
      if (text === "") return;
      let message: Message;
      try {
        message = JSON.parse(text);
      } catch (cause) {
        const what = `${response.status} ${type}`.trim();
        throw new Error(`The answer is no JSON-RPC message: ${what}`, {
          cause,
        });
      }
      return yield message;
    }
    const reader = response.body!.pipeThrough(new TextDecoderStream())
      .getReader();
    let text = "";
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        const events = (text + value).split(/\r?\n\r?\n/);
        text = events.pop()!;
        for (const event of events) {
          const data = /^data: ?(.*)$/m.exec(event)?.[1];
          if (data) yield JSON.parse(data);
        }
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  /**
   * Waits for the end of a task of 2026-07-28 and answers its questions.
   *
   * @throws {ServerError} when it failed
   * @throws {DOMException} `AbortError` when it was cancelled
   */
  async follow(
    task: Pick<TaskState, "taskId">,
    { signal }: RequestOptions = {},
  ): Promise<Json> {
    const { taskId } = task;
    const isAnswered = new Set<string>();
    const notifications = { taskIds: [taskId] };
    const response = await this.post(
      "subscriptions/listen",
      { notifications },
      signal,
    );
    for await (const { error, ...message } of this.messages(response)) {
      if (error) throw this.failure(error, response);
      if (message.method !== "notifications/tasks") continue;
      const state = message.params as TaskState;
      this.#options.onTask?.(state);
      switch (state.status) {
        case "input_required": {
          const open = Object.entries(state.inputRequests as Json)
            .filter(([key]) => !isAnswered.has(key));
          for (const [key] of open) isAnswered.add(key);
          const inputResponses = await this.#answerAll(
            Object.fromEntries(open),
          );
          await this.read(
            await this.post("tasks/update", { taskId, inputResponses }, signal),
          );
          break;
        }
        case "completed":
          return state.result as Json;
        case "failed":
          throw this.failure(state.error as Message["error"] & Json, response);
        case "cancelled":
          throw new DOMException("The task was cancelled", "AbortError");
      }
    }
    throw new Error("The task's stream ended before the task");
  }

  /** Makes an exception of a server's error. */
  failure(
    { code, message, data }: NonNullable<Message["error"]>,
    response: Response,
  ): ServerError {
    return Object.assign(new Error(message), { code, data, response });
  }

  /**
   * Gives the server's introduction: the result of `initialize`, which opens
   * the session, or of `server/discover`.
   *
   * @throws {ServerError}
   */
  async introduction(): Promise<Json> {
    if (this.revision === "2026-07-28") {
      return await this.request("server/discover");
    }
    await (this.#session ??= this.#openSession());
    return this.#introduction!;
  }

  /** Ends the session, if there is one. */
  async close(): Promise<void> {
    const sessionId = await this.#session?.catch(() => null);
    this.#session = undefined;
    if (!sessionId) return;
    const headers = { "mcp-session-id": sessionId };
    const response = await this.#fetch("DELETE", headers);
    await response.body?.cancel();
  }

  async #requestInSession(
    method: string,
    params: Json,
    signal?: AbortSignal,
  ): Promise<Json> {
    await (this.#session ??= this.#openSession());
    const id = ++this.#lastId;
    let cancelling: Promise<unknown> | undefined;
    const cancel = () =>
      cancelling ??= this.#post({
        method: "notifications/cancelled",
        params: { requestId: id },
      });
    signal?.addEventListener("abort", cancel, { once: true });
    const _meta = { progressToken: id };
    try {
      return await this.read(
        await this.#post({ id, method, params: { ...params, _meta } }),
        async ({ id, method, params = {} }) => {
          const result = await this.#answer({ method: method!, params });
          await (await this.#post({ id, result })).body?.cancel();
        },
      );
    } catch (error) {
      // The server may still wait for an answer that it will not get.
      if (!(error instanceof Error && "response" in error)) await cancel();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
      await cancelling;
    }
  }

  /** Opens a session; null if the server keeps none. */
  async #openSession(): Promise<string | null> {
    const { clientInfo, capabilities = {}, logLevel } = this.#options;
    const opened = await this.#send({
      id: ++this.#lastId,
      method: "initialize",
      params: {
        protocolVersion: this.revision,
        capabilities,
        clientInfo: clientInfo ?? Client.#INFO,
      },
    });
    this.#introduction = await this.read(opened);
    const sessionId = opened.headers.get("mcp-session-id");
    this.#session = Promise.resolve(sessionId);
    const told = await this.#post({ method: "notifications/initialized" });
    await told.body?.cancel();
    if (logLevel !== undefined) {
      await this.read(
        await this.#post({
          id: ++this.#lastId,
          method: "logging/setLevel",
          params: { level: logLevel },
        }),
      );
    }
    return sessionId;
  }

  /** Posts a message of the session. */
  async #post(message: Json): Promise<Response> {
    const sessionId = await this.#session;
    return await this.#send(message, {
      "mcp-protocol-version": this.revision,
      ...(sessionId && { "mcp-session-id": sessionId }),
    });
  }

  #send(
    message: Json,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return this.#fetch("POST", headers, { body, signal });
  }

  async #fetch(
    method: string,
    headers: Record<string, string>,
    init: RequestInit = {},
  ): Promise<Response> {
    const { url, fetch = globalThis.fetch, headers: more } = this.#options;
    return await fetch(
      new Request(url, {
        method,
        headers: {
          accept: "application/json, text/event-stream",
          ...(method === "POST" && { "content-type": "application/json" }),
          ...headers,
          ...more?.(),
        },
        ...init,
      }),
    );
  }

  /** Answers the questions of one round, by key. */
  async #answerAll(inputRequests: Json): Promise<Json> {
    const answers: Json = {};
    for (const [key, asked] of Object.entries(inputRequests)) {
      answers[key] = await this.#answer({ ...asked as Question, key });
    }
    return answers;
  }

  async #answer(question: Question): Promise<Json> {
    const { onQuestion } = this.#options;
    if (onQuestion) return await onQuestion(question);
    throw new Error(`The server asks ${question.method}: nothing answers here`);
  }

  /** Lists the arguments that a tool wants repeated in headers. */
  #argumentHeaders(params: Json): Record<string, string> {
    const tool = this.#options.tools?.find(({ name }) => name === params.name);
    const headers: Record<string, string> = {};
    const collect = (schema: Json, args: unknown) => {
      for (const [name, property] of Object.entries(schema?.properties ?? {})) {
        if (!Object.hasOwn(Object(args), name)) continue;
        const value = (args as Json)[name];
        if (value === undefined || value === null) continue;
        const header = (property as Json)["x-mcp-header"];
        if (header === undefined) collect(property as Json, value);
        else headers[`mcp-param-${header}`] = Client.#printed(`${value}`);
      }
    };
    if (tool) collect(tool.inputSchema, params.arguments);
    return headers;
  }

  static readonly #INFO = { name: "tool-server-client", version: "1" };

  /**
   * Encodes text as a header value: anything but visible ASCII becomes base64.
   */
  static #printed(text: string): string {
    const isPlain = /^[!-~]([ -~]*[!-~])?$/.test(text) &&
      !text.startsWith("=?base64?");
    if (isPlain) return text;
    const bytes = new TextEncoder().encode(text);
    return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
  }
}
