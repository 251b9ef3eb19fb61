/**
 * The session of 2025 between a client and a server. 2026-07-28 has no
 * sessions: every request says what a session would know.
 *
 * @module
 * @see MCP 2025-11-25, Session Management
 */
import {
  type ClientOptions,
  Connection,
  type EncodedRequest,
  type Json,
  type Revision,
} from "./connection.ts";

/** A connection that knows how requests are encoded in its session. */
export class Session extends Connection {
  readonly revision: Revision;
  #opened?: Promise<string | null>;
  #initializeResult?: Json;
  #lastId = 0;

  constructor(options: ClientOptions) {
    super(options);
    this.revision = options.revision ?? "2026-07-28";
    const { sessionId } = options;
    if (sessionId !== undefined) this.#opened = Promise.resolve(sessionId);
  }

  /** Posts one request; its answer may be a stream. */
  async post(
    method: string,
    params: Json = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    return await this.send(await this.encode(method, params), signal);
  }

  /**
   * Encodes a request, for code that sends the request by other means. In 2025,
   * opens the session first, unless the request is `initialize`.
   */
  async encode(method: string, params: Json = {}): Promise<EncodedRequest> {
    const id = this.options.nextId?.() ?? ++this.#lastId;
    const { clientInfo = Session.#INFO, capabilities = {}, logLevel } =
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
      ...(typeof name === "string" && { "mcp-name": Session.#printed(name) }),
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
        else headers[`mcp-param-${header}`] = Session.#printed(`${value}`);
      }
    };
    if (tool) collect(tool.inputSchema, params.arguments);
    return headers;
  }

  /**
   * Returns the ID of the session, and opens it if need be; undefined if there
   * are no sessions.
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

  /** Posts a message of the session that has no answer. */
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
