/**
 * The connection to a server: encodes and posts requests, and reads the
 * messages in the responses.
 *
 * @module
 * @see MCP 2025-11-25 and 2026-07-28, Streamable HTTP
 */
/** A JSON object with any members. */
export type Json = Record<string, unknown>;

export type Revision =
  | "2025-03-26"
  | "2025-06-18"
  | "2025-11-25"
  | "2026-07-28";

/** A message from a server. */
export interface Message {
  id?: string | number;
  method?: string;
  params?: Json;
  result?: Json;
  error?: { code: number; message: string; data?: unknown };
}

/** An error from a server, with the server's message. */
export interface ServerError extends Error {
  /** The JSON-RPC error code. */
  code: number;
  /** More data, depending on the code. */
  data?: unknown;
  /** The HTTP response that had the error; its body has been read. */
  response: Response;
  /**
   * True if the error names the request by its ID, so that the server has
   * understood the request, and may have executed it.
   */
  isOfRequest?: boolean;
  /** The task that failed, if a task ended with the error. */
  taskId?: string;
}

/**
 * A question to the client; `signal` fires when the answer is no longer needed.
 */
export interface Question {
  /** `elicitation/create`, `sampling/createMessage` or `roots/list`. */
  method: string;
  params: Json;
  /** The question's name within its request; absent before MCP 2026-07-28. */
  key?: string;
  signal?: AbortSignal;
}

/** A task as the server sends it. */
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

/** The server's URL, and the callbacks and capabilities of the client. */
export interface ClientOptions {
  /** The URL of the MCP endpoint. */
  url: string;
  revision?: Revision;
  /** The ID of an open session; by default the client opens one. */
  sessionId?: string;
  /** Returns the ID of the next request, if others use the session too. */
  nextId?: () => number;
  /** Sends a request; the global `fetch` by default. */
  fetch?: (request: Request) => Response | Promise<Response>;
  /** Headers of every request, such as `authorization`. */
  headers?: () => Record<string, string>;
  clientInfo?: { name: string; version: string };
  capabilities?: Json;
  /** The lowest level of log messages to request; none by default. */
  logLevel?: string;
  /** The listed tools. Some need arguments to be repeated in headers. */
  tools?: readonly ListedTool[];
  /** Answers a question. If absent, a question is an error. */
  onQuestion?: (question: Question) => Json | Promise<Json>;
  /** Called with `notifications/progress` and other notifications. */
  onNotification?: (method: string, params: Json) => void;
  /** Called with the state of the task that a request became. */
  onTask?: (task: TaskState) => void;
  /** Called when no server responds about a task, and again when one does. */
  onAnswering?: (isAnswering: boolean) => void;
  /** Called before a request is repeated with the answers of one round. */
  onRound?: () => void;
}

/**
 * The connection of a client to its server: a session or, since MCP 2026-07-28,
 * requests that are complete in themselves.
 */
export class Connection {
  /** The request IDs of responses. */
  readonly #answered = new WeakMap<Response, unknown>();
  readonly revision: Revision;
  #opened?: Promise<string | null>;
  #initializeResult?: Json;
  #lastId = 0;

  constructor(protected readonly options: ClientOptions) {
    this.revision = options.revision ?? "2026-07-28";
    const { sessionId } = options;
    if (sessionId !== undefined) this.#opened = Promise.resolve(sessionId);
  }

  /**
   * Reads a result, and passes the messages before it to the callbacks.
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
      // An error may be about a message whose ID was not understood: servers
      // before MCP 2026-07-28 refuse a missing session with the ID
      // "server-error".
      const isAnswer = result || error && id != null && response.ok;
      if (isAnswer && asked !== undefined && id !== asked) {
        const what = `is for another request, ${id}`;
        throw Connection.#unanswered(response, what);
      }
      if (error) {
        const isOfRequest = id !== undefined && id === asked;
        throw Object.assign(this.failure(error, response), { isOfRequest });
      }
      if (result) return result;
      if (id !== undefined) await onQuestion?.(message);
      else if (method) this.options.onNotification?.(method, params);
    }
    throw Connection.#unanswered(response, "ended without a result");
  }

  /**
   * Yields the messages of a response: one if it is JSON, or all those of its
   * stream.
   *
   * @throws {Error} for a body that is no message, for a message of over 64 Mi
   * characters or over 500 levels, and for a stream of over 128 Mi characters
   * or a million events, comments included
   */
  async *messages(response: Response): AsyncGenerator<Message> {
    const type = response.headers.get("content-type") ?? "";
    const isStream = type.startsWith("text/event-stream");
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream())
      .getReader();
    let parts: string[] = [];
    let size = 0;
    let total = 0;
    let count = 0;
    /** The last characters, with which the end of an event may begin. */
    let tail = "";
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        parts.push(value);
        size += value.length;
        total += value.length;
        const isEndless = total > 2 * Connection.#MAX_CHARACTERS ||
          count > Connection.#MAX_EVENTS;
        if (isEndless || size > Connection.#MAX_CHARACTERS) {
          throw Connection.#unanswered(response, "is too long");
        }
        const hasEnd = isStream && /\r?\n\r?\n/.test(tail + value);
        tail = (tail + value).slice(-3);
        if (!hasEnd) continue;
        const events = parts.join("").split(/\r?\n\r?\n/);
        const rest = events.pop()!;
        parts = [rest];
        size = rest.length;
        tail = rest.slice(-3);
        count += events.length;
        for (const event of events) {
          const data = event.split(/\r?\n/)
            .flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
            .join("\n");
          if (data) yield Connection.#parse(data, response);
        }
      }
      const text = parts.join("");
      if (!isStream && text !== "") yield Connection.#parse(text, response);
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  /** @throws {Error} for a text that is no message */
  static #parse(text: string, response: Response): Message {
    let message: Message | undefined;
    try {
      message = JSON.parse(text);
      // A refusal of OAuth has an `error` too, but that is no object.
      if (typeof (message!.error ?? message) !== "object") message = undefined;
    } catch {
      // The error is reported below, like any other text that is no message.
    }
    if (!message) {
      const error = Connection.#unanswered(response, "is no JSON-RPC message");
      throw Object.assign(error, { text: text.slice(0, 500) });
    }
    // Code that walks or prints a schema recurses once for each level.
    if (Connection.#isTooDeep(text)) {
      const words = `is nested deeper than ${Connection.#MAX_LEVELS} levels`;
      throw Connection.#unanswered(response, words);
    }
    return message;
  }

  /**
   * Counts open brackets outside of strings, which costs far less than parsing.
   */
  static #isTooDeep(json: string): boolean {
    let open = 0;
    let isInString = false;
    for (let index = 0; index < json.length; index++) {
      const character = json[index];
      if (isInString) {
        if (character === "\\") index++;
        else if (character === '"') isInString = false;
      } else if (character === '"') isInString = true;
      else if (character === "[" || character === "{") {
        if (++open > Connection.#MAX_LEVELS) return true;
      } else if (character === "]" || character === "}") open--;
    }
    return false;
  }

  /** Makes the error for a response without a message. */
  static #unanswered({ status, headers }: Response, what: string): Error {
    const words = `${status} ${headers.get("content-type") ?? ""}`.trim();
    const error = new Error(`The answer ${what}: ${words}`);
    return Object.assign(error, { status });
  }

  /** Makes an exception of a server's error. */
  failure(
    { code, message, data }: NonNullable<Message["error"]>,
    response: Response,
  ): ServerError {
    return Object.assign(new Error(message), { code, data, response });
  }

  protected async send(
    request: EncodedRequest,
    signal?: AbortSignal,
  ): Promise<Response> {
    const response = await this.fetch({ method: "POST", ...request, signal });
    this.#answered.set(response, JSON.parse(request.body).id);
    return response;
  }

  protected async fetch(init: RequestInit): Promise<Response> {
    const { url, fetch = globalThis.fetch } = this.options;
    return await fetch(new Request(url, init));
  }

  static readonly #MAX_CHARACTERS = 64 * 2 ** 20;
  static readonly #MAX_LEVELS = 500;
  /**
   * The maximum number of events of a stream. At one comment every 15 seconds,
   * that takes half a year.
   */
  static readonly #MAX_EVENTS = 1_000_000;

  /** Posts one request; the response may be a stream. */
  async post(
    method: string,
    params: Json = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    return await this.send(await this.encode(method, params), signal);
  }

  /**
   * Encodes a request, for code that sends it by other means. Opens the session
   * first if the revision has sessions, unless the request is `initialize`.
   */
  async encode(method: string, params: Json = {}): Promise<EncodedRequest> {
    const id = this.options.nextId?.() ?? ++this.#lastId;
    const { clientInfo = Connection.#INFO, capabilities = {}, logLevel } =
      this.options;
    // The server sends progress only if the request has a token.
    const heard = this.options.onNotification && { progressToken: id };
    if (method === "initialize") {
      const protocolVersion = this.revision;
      params = { protocolVersion, capabilities, clientInfo, ...params };
      return this.#encoded({ id, method, params });
    }
    if (this.revision !== "2026-07-28") {
      await this.#open();
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
      ...(typeof name === "string" &&
        { "mcp-name": Connection.#printed(name) }),
      ...(method === "tools/call" && this.#argumentHeaders(params)),
    });
  }

  #encoded(message: Json, headers: Record<string, string> = {}) {
    return {
      headers: {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        ...headers,
        ...this.options.headers?.(),
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    };
  }

  /** Makes the headers that repeat arguments of a tool. */
  #argumentHeaders(params: Json): Record<string, string> {
    const tool = this.options.tools?.find(({ name }) => name === params.name);
    const headers: Record<string, string> = {};
    const collect = (schema: Json, args: unknown) => {
      for (const [name, property] of Object.entries(schema?.properties ?? {})) {
        if (!Object.hasOwn(Object(args), name)) continue;
        const value = (args as Json)[name];
        if (value === undefined || value === null) continue;
        const header = (property as Json)["x-mcp-header"];
        if (header === undefined) collect(property as Json, value);
        else headers[`mcp-param-${header}`] = Connection.#printed(`${value}`);
      }
    };
    if (tool) collect(tool.inputSchema, params.arguments);
    return headers;
  }

  /**
   * Returns the ID of the session, opened if necessary. Undefined if there are
   * no sessions.
   */
  async sessionId(): Promise<string | undefined> {
    if (this.revision === "2026-07-28") return undefined;
    return await this.#open() ?? undefined;
  }

  /** Returns the result of `initialize`, which opens the session. */
  protected async opening(): Promise<Json> {
    await this.#open();
    return this.#initializeResult!;
  }

  /** Ends the session, if there is one. */
  async close(): Promise<void> {
    const sessionId = await this.#opened?.catch(() => null);
    if (!sessionId) return;
    const headers = {
      ...await this.#sessionHeaders(),
      ...this.options.headers?.(),
    };
    this.#opened = undefined;
    const response = await this.fetch({ method: "DELETE", headers });
    await response.body?.cancel();
  }

  /** Posts a notification of the session. */
  protected async notify(message: Json): Promise<void> {
    const headers = await this.#sessionHeaders();
    const response = await this.send(this.#encoded(message, headers));
    await response.body?.cancel();
  }

  /**
   * Opens the session, once. Returns its ID; null if the server has no
   * sessions.
   */
  #open(): Promise<string | null> {
    return this.#opened ??= this.#initialize();
  }

  async #initialize(): Promise<string | null> {
    const opened = await this.post("initialize");
    this.#initializeResult = await this.read(opened);
    const sessionId = opened.headers.get("mcp-session-id");
    this.#opened = Promise.resolve(sessionId);
    await this.notify({ method: "notifications/initialized" });
    const { logLevel: level } = this.options;
    const { logging } = Object(this.#initializeResult.capabilities);
    if (level !== undefined && logging) {
      await this.read(await this.post("logging/setLevel", { level }));
    }
    return sessionId;
  }

  async #sessionHeaders(): Promise<Record<string, string>> {
    const sessionId = await this.#opened;
    const agreed = this.#initializeResult?.protocolVersion ?? this.revision;
    return {
      "mcp-protocol-version": `${agreed}`,
      ...(sessionId && { "mcp-session-id": sessionId }),
    };
  }

  static readonly #INFO = { name: "tool-server-client", version: "1" };

  /** Encodes a header value: anything but visible ASCII becomes base64. */
  static #printed(text: string): string {
    const isPlain = /^[!-~]([ -~]*[!-~])?$/.test(text) &&
      !text.startsWith("=?base64?");
    if (isPlain) return text;
    const bytes = new TextEncoder().encode(text);
    return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
  }
}
