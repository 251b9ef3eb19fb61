/**
 * A whole server in one line, and callers of both generations.
 *
 * @module
 */
import { createServer } from "../src/server.ts";
import type {
  CreateServerOptions,
  Server,
} from "../src/server/server_options.ts";
import type { JsonObject } from "../src/json.ts";
import { SILENT } from "./log/fixture.ts";
import { VERSION } from "../src/version.ts";
import { Meta } from "../src/mcp/wire/request_meta.ts";
import { STATELESS_REVISION } from "../src/mcp/wire/revisions.ts";

/** The address that the test server has. */
export const BASE_URL = "http://127.0.0.1:3000";

/** A message for tests to examine. */
// deno-lint-ignore no-explicit-any
export type Json = any;

export type HeadersOf = Record<string, string>;

/** The name and version of test servers. */
export const INTRODUCTION = {
  name: "tool-server",
  title: "Tool Server",
  version: VERSION,
};

/**
 * Options of a test server, all optional; a database that is given stays open.
 */
export type ServerOptions = Partial<CreateServerOptions>;

/** Starts a server, on a database of its own in memory unless one is given. */
export async function startServer(
  { kv, log = SILENT, ...options }: ServerOptions = {},
): Promise<TestServer> {
  const database = kv ?? await Deno.openKv(":memory:");
  const app = createServer({
    ...INTRODUCTION,
    ...options,
    log,
    kv: database,
  });
  return new TestServer(app, database, kv === undefined);
}

/** Sends messages to a server in this process or elsewhere. */
export abstract class Sender {
  abstract fetch(path: string, init?: RequestInit): Promise<Response>;

  /** Posts one body: a text as it is, anything else as JSON. */
  post(
    body: unknown,
    headers: HeadersOf = {},
    init: RequestInit = {},
  ): Promise<Response> {
    return this.fetch("/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: isBody(body) ? body : JSON.stringify(body),
      ...init,
    });
  }

  /** Opens a 2025 session. */
  async openSession(
    { revision = "2025-11-25", capabilities = {} }: {
      revision?: string;
      capabilities?: JsonObject;
    } = {},
  ): Promise<TestSession> {
    const response = await this.post(initialize(revision, capabilities));
    await response.body?.cancel();
    return new TestSession(this, response.headers.get("mcp-session-id")!);
  }

  /** Posts one 2026 request with the headers that belong to it. */
  call(method: string, params: JsonObject = {}, {
    id = 1,
    capabilities = {},
    meta = {},
    headers = {},
    signal,
  }: CallOptions = {}): Promise<Response> {
    const name = params.name ?? params.uri ?? params.taskId;
    return this.post(
      rpc(method, { ...params, _meta: statelessMeta(capabilities, meta) }, id),
      {
        "mcp-protocol-version": STATELESS_REVISION,
        "mcp-method": method,
        ...(typeof name === "string" && { "mcp-name": name }),
        ...headers,
      },
      { signal },
    );
  }
}

/** A server without its socket; `await using` ends it. */
export class TestServer extends Sender implements AsyncDisposable {
  constructor(
    readonly app: Server,
    readonly kv: Deno.Kv,
    private readonly ownsKv: boolean,
  ) {
    super();
  }

  async fetch(path: string, init?: RequestInit): Promise<Response> {
    return await this.app.fetch(new Request(BASE_URL + path, init));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.app.stop();
    await this.app.close();
    if (this.ownsKv) this.kv.close();
  }
}

interface CallOptions {
  id?: string | number;
  capabilities?: JsonObject;
  meta?: JsonObject;
  headers?: HeadersOf;
  signal?: AbortSignal;
}

/** A 2025 session from its client's side. */
export class TestSession {
  #id = 0;
  constructor(readonly server: Sender, readonly id: string) {}

  /** Gives the same session at another server. */
  at(server: Sender): TestSession {
    return new TestSession(server, this.id);
  }

  post(body: unknown, headers: HeadersOf = {}): Promise<Response> {
    return this.server.post(body, { "mcp-session-id": this.id, ...headers });
  }

  request(
    method: string,
    params?: JsonObject,
    id: string | number = ++this.#id,
  ): Promise<Response> {
    return this.post(rpc(method, params, id));
  }

  notify(method: string, params?: JsonObject): Promise<Response> {
    return this.post({ jsonrpc: "2.0", method, params });
  }

  end(): Promise<Response> {
    return this.server.fetch("/mcp", {
      method: "DELETE",
      headers: { "mcp-session-id": this.id },
    });
  }
}

/** Makes a JSON-RPC request. */
export function rpc(
  method: string,
  params?: unknown,
  id: string | number = 1,
): JsonObject {
  return { jsonrpc: "2.0", id, method, params };
}

/** A generation of the protocol, in the way its clients call. */
export type Ask = (method: string, params: Json) => Promise<Response>;

/** Opens a session, and gives the ways of asking with and without one. */
export async function asksOf(
  server: TestServer,
  headers: HeadersOf,
): Promise<Record<"2025" | "2026", Ask>> {
  const opened = await server.post(initialize("2025-11-25"), headers);
  await opened.body?.cancel();
  const session = {
    ...headers,
    "mcp-session-id": opened.headers.get("mcp-session-id")!,
  };
  const capabilities = {
    extensions: { "io.modelcontextprotocol/tasks": {} },
  };
  return {
    "2025": (method, params) => server.post(rpc(method, params), session),
    "2026": (method, params) =>
      server.call(method, params, { headers, capabilities }),
  };
}

/** Makes an `initialize` request. */
export function initialize(
  revision: string,
  capabilities: JsonObject = {},
): JsonObject {
  return rpc("initialize", {
    protocolVersion: revision,
    capabilities,
    clientInfo: { name: "test", version: "1" },
  });
}

/** Makes the `_meta` of a 2026 request. */
export function statelessMeta(
  capabilities: JsonObject = {},
  more: JsonObject = {},
): JsonObject {
  return {
    [Meta.protocolVersion]: STATELESS_REVISION,
    [Meta.clientInfo]: { name: "test", version: "1" },
    [Meta.clientCapabilities]: capabilities,
    ...more,
  };
}

/** Prints an answer's status and JSON-RPC error code as one line. */
export async function refusal(
  response: Response | Promise<Response>,
): Promise<string> {
  const { status, error } = await outcome(response);
  return `${status} ${error?.code}`;
}

/** Reads an answer's status and the members of its one JSON message. */
export async function outcome(
  response: Response | Promise<Response>,
): Promise<{ status: number; id?: Json; result?: Json; error?: Json }> {
  const answered = await response;
  const text = await answered.text();
  return { status: answered.status, ...(text && JSON.parse(text)) };
}

/** Reads the result of an answer, from JSON or from a stream. */
export async function resultOf(
  response: Response | Promise<Response>,
): Promise<Json> {
  const messages = await messagesOf(await response);
  return messages.at(-1)?.result;
}

/**
 * Reads every message of an answer: one of JSON, or those of a stream to its
 * end.
 */
export async function messagesOf(response: Response): Promise<Json[]> {
  if (!isStream(response)) return [await response.json()];
  const messages = [];
  for await (const message of new Events(response)) messages.push(message);
  return messages;
}

export function isStream(response: Response): boolean {
  return response.headers.get("content-type") === "text/event-stream";
}

/** A stream of server-sent events, message by message. */
export class Events implements AsyncIterableIterator<Json> {
  /** Comments seen so far: the opening one, then keep-alives. */
  comments = 0;
  #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  constructor(response: Response) {
    this.#reader = response.body!.pipeThrough(new TextDecoderStream())
      .getReader();
  }

  /** Gives the next message; `done` at the end of the stream. */
  async next(): Promise<IteratorResult<Json>> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end < 0) {
        const { done, value } = await within(60, this.#reader.read());
        if (done) return { done, value: undefined };
        this.#text += value;
        continue;
      }
      const event = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) return { value: JSON.parse(data) };
      this.comments++;
    }
  }

  /** Gives the next message's value. */
  async read(): Promise<Json> {
    return (await this.next()).value;
  }

  /** Closes the stream, as a client does that wants no more. */
  async close(): Promise<void> {
    await this.#reader.cancel();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/**
 * Waits for a promise; a failure names the test that waits.
 *
 * @throws {Error} when it takes longer
 */
export async function within<T>(
  seconds: number,
  promise: Promise<T>,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`Nothing within ${seconds} s`)),
    seconds * 1000,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits until a condition holds, without guessing how long that takes. The
 * limit only ends a wait that would never end: a busy machine stalls for
 * seconds.
 */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!await isTrue()) {
    if (performance.now() > deadline) {
      throw new Error("It did not come to pass");
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function isBody(body: unknown): body is BodyInit {
  return typeof body === "string" || body instanceof Uint8Array ||
    body instanceof ReadableStream;
}
