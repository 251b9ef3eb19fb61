/**
 * A whole server in one line, and callers of both generations.
 *
 * @module
 */
import { createServer } from "../../src/server.ts";
import type {
  CreateServerOptions,
  Server,
} from "../../src/core/server/server_options.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { checkLayout } from "../../src/core/kv/layout.ts";
import { VERSION } from "../../src/core/version.ts";
import { openTestKv } from "./databases.ts";
import { SILENT } from "./log.ts";
import {
  type HeadersOf,
  initialize,
  type Json,
  rpc,
  statelessMeta,
} from "./message.ts";

/** The address that the test server has. */
export const BASE_URL = "http://127.0.0.1:3000";

/** The name and version of test servers. */
export const IMPLEMENTATION = {
  name: "tool-server",
  title: "Tool Server",
  version: VERSION,
};

/**
 * Options of a test server, all optional; a database that is given stays open.
 */
export type ServerOptions = Partial<Omit<CreateServerOptions, "kv">> & {
  kv?: Deno.Kv;
};

/** Starts a server, on a database of its own in memory unless one is given. */
export async function startServer(
  { kv, log = SILENT, ...options }: ServerOptions = {},
): Promise<TestServer> {
  const own = kv ? undefined : await openTestKv();
  const database = kv ?? own!;
  // As at the start of a process: a test may write records before any request.
  if (own) await checkLayout(own);
  const app = createServer({
    ...IMPLEMENTATION,
    ...options,
    log,
    kv: database,
  });
  return new TestServer(app, database, own);
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

  /** Opens a 2025 session, whose requests have the same headers. */
  async openSession(
    { revision = "2025-11-25", capabilities = {}, headers = {} }: {
      revision?: string;
      capabilities?: JsonObject;
      headers?: HeadersOf;
    } = {},
  ): Promise<TestSession> {
    const message = initialize(revision, capabilities);
    const response = await this.post(message, headers);
    await response.body?.cancel();
    const id = response.headers.get("mcp-session-id")!;
    return new TestSession(this, id, headers);
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

/** A server at an address, which is sent these headers with every request. */
export class RemoteServer extends Sender {
  constructor(readonly url: string, readonly headers: HeadersOf = {}) {
    super();
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(this.headers)) {
      headers.set(name, value);
    }
    return fetch(this.url + path, { ...init, headers, redirect: "manual" });
  }
}

/** A server without its socket; `await using` ends it. */
export class TestServer extends Sender implements AsyncDisposable {
  constructor(
    readonly app: Server,
    readonly kv: Deno.Kv,
    private readonly ownKv?: AsyncDisposable,
  ) {
    super();
  }

  async fetch(path: string, init?: RequestInit): Promise<Response> {
    return await this.app.fetch(new Request(BASE_URL + path, init));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.app.stop();
    await this.app.close();
    await this.ownKv?.[Symbol.asyncDispose]();
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
  /** The headers of each of its requests. */
  readonly headers: HeadersOf;

  constructor(
    readonly server: Sender,
    readonly id: string,
    private readonly opener: HeadersOf = {},
  ) {
    this.headers = { ...opener, "mcp-session-id": id };
  }

  /** Returns the same session at another server. */
  at(server: Sender): TestSession {
    return new TestSession(server, this.id, this.opener);
  }

  post(body: unknown, headers: HeadersOf = {}): Promise<Response> {
    return this.server.post(body, { ...this.headers, ...headers });
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
      headers: this.headers,
    });
  }
}

/** Sends a request in the way of one generation of the protocol. */
export type Ask = (method: string, params: Json) => Promise<Response>;

/**
 * Opens a session, and returns how to ask in each generation: with the session
 * and without one.
 */
export async function asksOf(
  server: TestServer,
  headers: HeadersOf,
): Promise<Record<"2025" | "2026", Ask>> {
  const session = await server.openSession({ headers });
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  return {
    "2025": (method, params) => session.post(rpc(method, params)),
    "2026": (method, params) =>
      server.call(method, params, { headers, capabilities }),
  };
}

/** A server in this process, or processes elsewhere. */
export type Answering = Pick<TestServer, "fetch">;

export function postForm(
  server: Answering,
  path: string,
  parameters: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = new URLSearchParams(parameters);
  return server.fetch(path, { method: "POST", headers, body });
}

export function postJson(
  server: Answering,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return server.fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

function isBody(body: unknown): body is BodyInit {
  return typeof body === "string" || body instanceof Uint8Array ||
    body instanceof ReadableStream;
}
