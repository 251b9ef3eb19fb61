/**
 * An MCP client of both generations: sessions of 2025 and requests of
 * 2026-07-28, with questions, progress and tasks.
 *
 * @module
 * @see MCP 2025-11-25 and 2026-07-28, Streamable HTTP
 */

/** A JSON object of the wire; its members may be anything. */
export type Json = Record<string, unknown>;

/** The revisions of the protocol that the client speaks. */
export type Revision =
  | "2025-03-26"
  | "2025-06-18"
  | "2025-11-25"
  | "2026-07-28";

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

/** A request as it is posted. */
export interface EncodedRequest {
  headers: Record<string, string>;
  body: string;
}

/** The server's address, and the callbacks and abilities of the client. */
export interface ClientOptions {
  /** The address of `/mcp`. */
  url: string;
  revision?: Revision;
  /** The ID of a session that is open already; one is opened by default. */
  sessionId?: string;
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
  /** The ID of the request that a response is for. */
  readonly #answered = new WeakMap<Response, unknown>();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.revision = options.revision ?? "2026-07-28";
    const { sessionId } = options;
    if (sessionId !== undefined) this.#session = Promise.resolve(sessionId);
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
    const { taskId } = result as TaskState;
    try {
      return await this.follow({ taskId }, options);
    } catch (error) {
      if (!options.signal?.aborted) throw error;
      await this.read(await this.post("tasks/cancel", { taskId }));
      throw options.signal.reason;
    }
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
    for (let round = 0; round <= Client.#MOST_ROUNDS; round++) {
      const response = await this.post(method, { ...params, ...more }, signal);
      const result = await this.read(response);
      if (result.resultType !== "input_required") return result;
      this.#options.onRound?.();
      const { inputRequests, requestState } = result;
      const inputResponses = await this.#answerAll(inputRequests as Json);
      more = { requestState, inputResponses };
    }
    throw new Error(
      `${method} is not answered after ${Client.#MOST_ROUNDS} rounds`,
    );
  }

  /** Posts one request; its answer may be a stream. */
  async post(
    method: string,
    params: Json = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const request = await this.encode(method, params);
    return await this.#send(request, signal);
  }

  /**
   * Encodes a request, for those who send it in a way of their own. In 2025 it
   * opens the session first, unless the request is `initialize`.
   */
  async encode(method: string, params: Json = {}): Promise<EncodedRequest> {
    const id = ++this.#lastId;
    const { clientInfo = Client.#INFO, capabilities = {}, logLevel } =
      this.#options;
    // Without a token the server sends no progress, which no one would hear.
    const heard = this.#options.onNotification && { progressToken: id };
    if (method === "initialize") {
      const protocolVersion = this.revision;
      params = { protocolVersion, capabilities, clientInfo, ...params };
      return this.#encoded({ id, method, params });
    }
    if (this.revision !== "2026-07-28") {
      await (this.#session ??= this.#openSession());
      const _meta = { ...heard, ...params._meta as Json };
      params = { ...params, ...(Object.keys(_meta).length > 0 && { _meta }) };
      return this.#encoded(
        { id, method, params },
        await this.#sessionHeaders(),
      );
    }
    const prefix = "io.modelcontextprotocol/";
    const _meta = {
      [`${prefix}protocolVersion`]: this.revision,
      [`${prefix}clientInfo`]: clientInfo,
      [`${prefix}clientCapabilities`]: capabilities,
      ...(logLevel !== undefined && { [`${prefix}logLevel`]: logLevel }),
      ...heard,
      ...params._meta as Json,
    };
    const name = params.name ?? params.uri ?? params.taskId;
    return this.#encoded({ id, method, params: { ...params, _meta } }, {
      "mcp-protocol-version": this.revision,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": Client.#printed(name) }),
      ...(method === "tools/call" && this.#argumentHeaders(params)),
    });
  }

  #encoded(message: Json, headers: Record<string, string> = {}) {
    return {
      headers: {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        ...headers,
        ...this.#options.headers?.(),
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    };
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
    const asked = this.#answered.get(response);
    for await (const message of this.messages(response)) {
      const { id, method, params = {}, result, error } = message;
      // An error may be about a message whose ID was not understood.
      const isAnswer = result || error && id != null;
      if (isAnswer && asked !== undefined && id !== asked) {
        throw new Error(`The answer is for another request: ${id}`);
      }
      if (error) throw this.failure(error, response);
      if (result) return result;
      if (id !== undefined) await onQuestion?.(message);
      else if (method) this.#options.onNotification?.(method, params);
    }
    throw Client.#unanswered(response, "ended without a result");
  }

  /**
   * Yields the messages of an answer: one if it is JSON, or all those of its
   * stream.
   *
   * @throws {Error} for another text, and for a message of over 64 Mi characters
   */
  async *messages(response: Response): AsyncGenerator<Message> {
    const type = response.headers.get("content-type") ?? "";
    const isStream = type.startsWith("text/event-stream");
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream())
      .getReader();
    const parse = (text: string): Message => {
      try {
        const message = JSON.parse(text);
        // A refusal of OAuth has an error too, which is no object.
        if (typeof (message.error ?? message) === "object") return message;
      } catch {
        // Reported below, like any other text that is no message.
      }
      throw Client.#unanswered(response, "is no JSON-RPC message");
    };
    let text = "";
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        // The end of an event may have begun in an earlier part.
        let from = Math.max(0, text.length - 3);
        text += value;
        if (text.length > 64 * 2 ** 20) {
          throw Client.#unanswered(response, "is too long");
        }
        while (isStream) {
          const end = /\r?\n\r?\n/g;
          end.lastIndex = from;
          const found = end.exec(text);
          if (!found) break;
          const data = text.slice(0, found.index).split(/\r?\n/)
            .flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
            .join("\n");
          text = text.slice(end.lastIndex);
          from = 0;
          if (data) yield parse(data);
        }
      }
      if (!isStream && text !== "") yield parse(text);
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  /** Makes the error for an answer without a message. */
  static #unanswered({ status, headers }: Response, what: string): Error {
    const words = `${status} ${headers.get("content-type") ?? ""}`.trim();
    const error = new Error(`The answer ${what}: ${words}`);
    return Object.assign(error, { status });
  }

  /**
   * Waits for the end of a task of 2026-07-28 and answers its questions. It
   * asks for the task's state where a stream of it ends or is not to be had.
   *
   * @throws {ServerError} when it failed
   * @throws {DOMException} `AbortError` when it was cancelled
   */
  async follow(
    { taskId }: Pick<TaskState, "taskId">,
    { signal }: RequestOptions = {},
  ): Promise<Json> {
    const isAnswered = new Set<string>();
    const notifications = { taskIds: [taskId] };
    for (;;) {
      const response = await this.post(
        "subscriptions/listen",
        { notifications },
        signal,
      );
      const messages = this.messages(response);
      const cut = (error: unknown) => {
        if (signal?.aborted || !(error instanceof TypeError)) throw error;
        // A stream that the network cut says nothing about the task.
        return { value: undefined };
      };
      for (;;) {
        const { value } = await messages.next().catch(cut);
        if (!value) break;
        const { method, params, error } = value as Message;
        if (error && error.code !== -32601) throw this.failure(error, response);
        if (method !== "notifications/tasks") continue;
        const state = params as TaskState;
        if (state.taskId !== taskId) continue;
        const result = await this.#settle(state, response, isAnswered, signal);
        if (!result) continue;
        await messages.return(undefined);
        return result;
      }
      signal?.throwIfAborted();
      const asked = await this.post("tasks/get", { taskId }, signal);
      const state = await this.read(asked) as TaskState;
      const result = await this.#settle(state, asked, isAnswered, signal);
      if (result) return result;
      const milliseconds = Math.min(
        Math.max(100, Number(state.pollIntervalMs) || 1000),
        Client.#MOST_POLL_MILLISECONDS,
      );
      signal?.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const stop = () => {
          clearTimeout(timer);
          reject(signal!.reason);
        };
        const timer = setTimeout(() => {
          signal?.removeEventListener("abort", stop);
          resolve();
        }, milliseconds);
        signal?.addEventListener("abort", stop, { once: true });
      });
    }
  }

  /** Answers what a task asks, and gives its result if it has one. */
  async #settle(
    state: TaskState,
    response: Response,
    isAnswered: Set<string>,
    signal?: AbortSignal,
  ): Promise<Json | undefined> {
    const { taskId } = state;
    this.#options.onTask?.(state);
    switch (state.status) {
      case "input_required": {
        const open = Object.entries(state.inputRequests as Json)
          .filter(([key]) => !isAnswered.has(key));
        if (open.length === 0) return;
        for (const [key] of open) isAnswered.add(key);
        const inputResponses = await this.#answerAll(Object.fromEntries(open));
        await this.read(
          await this.post("tasks/update", { taskId, inputResponses }, signal),
        );
        return;
      }
      case "completed":
        return state.result as Json;
      case "failed":
        throw this.failure(state.error as Message["error"] & Json, response);
      case "cancelled":
        throw new DOMException("The task was cancelled", "AbortError");
    }
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

  /** Gives the ID of the session, which it opens if need be. */
  async sessionId(): Promise<string | undefined> {
    if (this.revision === "2026-07-28") return undefined;
    return await (this.#session ??= this.#openSession()) ?? undefined;
  }

  /** Ends the session, if there is one. */
  async close(): Promise<void> {
    const sessionId = await this.#session?.catch(() => null);
    if (!sessionId) return;
    const headers = {
      ...await this.#sessionHeaders(),
      ...this.#options.headers?.(),
    };
    this.#session = undefined;
    const response = await this.#fetch({ method: "DELETE", headers });
    await response.body?.cancel();
  }

  async #requestInSession(
    method: string,
    params: Json,
    signal?: AbortSignal,
  ): Promise<Json> {
    const request = await this.encode(method, params);
    signal?.throwIfAborted();
    const { id: requestId } = JSON.parse(request.body);
    const cut = new AbortController();
    let cancelling: Promise<void> | undefined;
    const cancel = () =>
      cancelling ??= this.#tell({
        method: "notifications/cancelled",
        params: { requestId },
      }).finally(() => cut.abort());
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await this.read(
        await this.#send(request, cut.signal),
        async ({ id, method, params = {} }) => {
          const result = method === "ping"
            ? {}
            : await this.#answer({ method: method!, params });
          await this.#tell({ id, result });
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
    const opened = await this.#send(await this.encode("initialize"));
    this.#introduction = await this.read(opened);
    const sessionId = opened.headers.get("mcp-session-id");
    this.#session = Promise.resolve(sessionId);
    await this.#tell({ method: "notifications/initialized" });
    const { logLevel: level } = this.#options;
    const { logging } = Object(this.#introduction.capabilities);
    if (level !== undefined && logging) {
      await this.read(await this.post("logging/setLevel", { level }));
    }
    return sessionId;
  }

  async #sessionHeaders(): Promise<Record<string, string>> {
    const sessionId = await this.#session;
    const agreed = this.#introduction?.protocolVersion ?? this.revision;
    return {
      "mcp-protocol-version": `${agreed}`,
      ...(sessionId && { "mcp-session-id": sessionId }),
    };
  }

  /** Posts a message of the session that has no answer. */
  async #tell(message: Json): Promise<void> {
    const headers = await this.#sessionHeaders();
    const response = await this.#send(this.#encoded(message, headers));
    await response.body?.cancel();
  }

  async #send(
    request: EncodedRequest,
    signal?: AbortSignal,
  ): Promise<Response> {
    const response = await this.#fetch({ method: "POST", ...request, signal });
    this.#answered.set(response, JSON.parse(request.body).id);
    return response;
  }

  async #fetch(init: RequestInit): Promise<Response> {
    const { url, fetch = globalThis.fetch } = this.#options;
    return await fetch(new Request(url, init));
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

  /** The rounds of one request, which a server could ask for without end. */
  static readonly #MOST_ROUNDS = 100;

  /** The longest time between two looks at a task. */
  static readonly #MOST_POLL_MILLISECONDS = 60_000;

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
