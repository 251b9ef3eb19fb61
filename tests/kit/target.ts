/**
 * A server behind a real socket, and an attacker's means: any header, any byte,
 * a client of their own and an account of their own.
 *
 * @module
 */
import assert from "node:assert/strict";
import * as z from "zod";
import { resource } from "../../src/authoring/resource.ts";
import { tool } from "../../src/authoring/tool.ts";
import { type Browser, browserOf } from "./browser.ts";
import type { Answering, TestServer } from "./server.ts";
import { Client } from "./client.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "./sign_in.ts";
import {
  type HeadersOf,
  initialize,
  type Json,
  rpc,
  statelessMeta,
} from "./message.ts";
import { within } from "./wait.ts";

export { BASE_URL } from "./server.ts";
export { Client, REDIRECT_URI } from "./client.ts";

const NAME = z.object({ name: z.string() });

/** One tool for everyone, one behind a scope, one that asks, one that waits. */
const TOOLS = [
  tool({ name: "whoami", run: (_, { caller }) => caller.subject ?? "no one" }),
  tool({
    name: "echo",
    input: z.object({ text: z.string().meta({ "x-mcp-header": "Text" }) }),
    run: ({ text }) => text,
  }),
  tool({ name: "mail", scopes: ["mail:read"], run: () => "You have mail" }),
  tool({
    name: "meet",
    input: z.object({ greeting: z.string().default("Hello") }),
    async run({ greeting }, { ask }) {
      const answer = await ask({ message: "Who?", schema: NAME, key: "who" });
      return answer.action === "accept"
        ? `${greeting} ${answer.content.name}`
        : answer.action;
    },
  }),
  tool({
    name: "pay",
    singleUse: true,
    async run(_, { ask }) {
      const { action } = await ask({
        message: "Pay?",
        schema: NAME,
        key: "who",
      });
      return `paid: ${action}`;
    },
  }),
  tool({
    name: "wait",
    task: "optional",
    run: (_, { signal }) =>
      new Promise<string>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason))
      ),
  }),
];

const RESOURCES = [
  resource({
    uri: "mail://{id}",
    name: "mail",
    scopes: ["mail:read"],
    complete: { id: () => ["1"] },
    read: ({ id }) => `mail ${id}`,
  }),
];

/** An answer, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * A server that listens on loopback; its `BASE_URL` is that of all test
 * servers.
 */
export class Target implements Answering, AsyncDisposable {
  readonly url: string;

  constructor(
    readonly server: TestServer,
    private readonly listener: Deno.HttpServer<Deno.NetAddr>,
  ) {
    this.url = `http://127.0.0.1:${listener.addr.port}`;
  }

  get provider() {
    return (this.server as OAuthServer).provider;
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(this.url + path, { redirect: "manual", ...init });
  }

  async ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await this.fetch(path, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text };
  }

  /** Posts a form. */
  form(
    path: string,
    parameters: Record<string, string> | string[][],
    headers: HeadersOf = {},
  ): Promise<Answer> {
    const body = new URLSearchParams(parameters);
    return this.ask(path, { method: "POST", headers, body });
  }

  /** Posts JSON, or text as it is. */
  json(path: string, body: unknown, headers: HeadersOf = {}): Promise<Answer> {
    return this.ask(path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  /** Posts a 2026 request with the headers that belong to it. */
  call(
    method: string,
    params: Json = {},
    headers: HeadersOf = {},
    capabilities: Json = {},
  ): Promise<Answer> {
    const name = params.name ?? params.uri ?? params.taskId;
    const body = rpc(method, { ...params, _meta: statelessMeta(capabilities) });
    return this.json("/mcp", body, {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...typeof name === "string" && { "mcp-name": name },
      ...headers,
    });
  }

  /** Opens a 2025 session and returns its id. */
  async session(
    headers: HeadersOf = {},
    revision = "2025-11-25",
  ): Promise<string> {
    const body = initialize(revision, { elicitation: {} });
    const answer = await this.json("/mcp", body, headers);
    assert.equal(answer.status, 200, answer.text);
    return answer.headers.get("mcp-session-id")!;
  }

  /**
   * Writes these lines and this body, and reads until the server closes the
   * connection.
   */
  async raw(lines: readonly string[], body = ""): Promise<Answer> {
    const { hostname, port } = this.listener.addr;
    using socket = await Deno.connect({ hostname, port });
    await writeAll(socket, `${lines.join("\r\n")}\r\n\r\n${body}`);
    return parseAnswer(await readToEnd(socket));
  }

  /** Opens a browser of the next person that the provider signs in. */
  browser(): Browser {
    return browserOf(this);
  }

  register(metadata: Json = {}): Promise<Client> {
    return Client.register(this, metadata);
  }

  /** Signs a person in through a client of their own. */
  async person(
    subject: string,
    { scope }: { scope?: string } = {},
  ): Promise<Person> {
    this.provider.subject = subject;
    this.provider.email = `${subject}@example.com`;
    const client = await this.register();
    const tokens = await client.connect(scope === undefined ? {} : { scope });
    const auth = { authorization: `Bearer ${tokens.access_token}` };
    return { client, tokens, auth };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.app.stop();
    await this.listener.shutdown();
    await this.server[Symbol.asyncDispose]();
  }
}

/** A person who has signed in, and the tokens of their client. */
export interface Person {
  client: Client;
  tokens: Json;
  auth: { authorization: string };
}

/** Starts a server with sign-in behind a socket. */
export async function startTarget(
  options: OAuthServerOptions = {},
): Promise<Target> {
  return listen(
    await startOAuthServer({ tools: TOOLS, resources: RESOURCES, ...options }),
  );
}

/** Puts a socket in front of a server. */
export function listen(server: TestServer): Target {
  const listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => server.app.fetch(request, info),
  );
  return new Target(server, listener);
}

/** Attacks by their name. */
export type Attacks = Record<string, (target: Target) => Promise<void>>;

/**
 * A group of attacks on one server, each a step with a name of its own. An
 * attack that hangs is a failure with that name.
 */
export function attacks(
  group: string,
  cases: Attacks,
  start: () => Promise<Target> = startTarget,
): void {
  Deno.test(group, async (t) => {
    await using target = await start();
    for (const [name, attack] of Object.entries(cases)) {
      await t.step({
        name,
        fn: () => within(30, attack(target)),
        // The socket of the whole group outlives each step.
        sanitizeOps: false,
        sanitizeResources: false,
      });
    }
  });
}

/** Makes the same attack with each of several texts. */
export function each(
  texts: readonly string[],
  attack: (target: Target, text: string) => Promise<void>,
): Attacks {
  return Object.fromEntries(texts.map((text) => [
    JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text),
    (target: Target) => attack(target, text),
  ]));
}

/**
 * Prints the `error` of an OAuth answer after its status: `400 invalid_grant`.
 */
export function oauthRefusal({ status, text }: Answer): string {
  return `${status} ${JSON.parse(text).error}`;
}

/**
 * Prints the code of a JSON-RPC error after its answer's status: `404 -32001`.
 */
export function rpcRefusal({ status, text }: Answer): string {
  return `${status} ${JSON.parse(text).error?.code}`;
}

async function writeAll(socket: Deno.Conn, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += await socket.write(bytes.subarray(at));
    } catch {
      // The server has already answered and closed the connection.
      return;
    }
  }
}

async function readToEnd(socket: Deno.Conn): Promise<string> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (;;) {
    const chunk = new Uint8Array(64 * 1024);
    const size = await within(20, socket.read(chunk).catch(() => null));
    if (size === null) break;
    chunks.push(chunk.subarray(0, size));
  }
  return await new Blob(chunks).text();
}

function parseAnswer(answer: string): Answer {
  const end = answer.indexOf("\r\n\r\n");
  const [first, ...lines] = answer.slice(0, Math.max(end, 0)).split("\r\n");
  return {
    status: Number(first.split(" ")[1] ?? 0),
    headers: new Headers(
      lines.map((line): [string, string] => {
        const at = line.indexOf(":");
        return [line.slice(0, at), line.slice(at + 1).trim()];
      }),
    ),
    text: answer.slice(end + 4),
  };
}
