/**
 * Another MCP server on loopback, whose people sign in at the strict service that
 * it extends. It registers clients, and speaks one generation of the protocol.
 *
 * @module
 */
import { mcpServer } from "../../src/mod.ts";
import type { McpServerOptions } from "../../src/mod.ts";
import type { Json } from "./message.ts";
import { TokenService } from "./token_service.ts";

/** A request of a tool, and the account as which it came. */
export interface ToolRequest {
  account: string;
  /** The parameters of `tools/call`. */
  params: Json;
  id: unknown;
  request: Request;
}

/** The answer to `server/discover`. */
export const DISCOVERED = {
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  serverInfo: { name: "other", version: "1" },
};

/** A server at which people sign in with OAuth. */
interface SignInServer {
  origin: string;
  /** Its MCP endpoint. */
  url: string;
  /** The client that it says it has registered. */
  clientId: string;
  /** Names each client that it registers; undefined if it knows one alone. */
  register?: (client: Json) => string;
  /** Members of its metadata as a resource, and as an authorization server. */
  resource?: Json;
  metadata?: Json;
  /** The clients that it has registered. */
  registered?: Json[];
}

/** Answers requests for metadata, and those of clients to register. */
export async function introduce(
  request: Request,
  server: SignInServer,
): Promise<Response | undefined> {
  const { origin, url, clientId, resource, metadata, registered } = server;
  const { pathname } = new URL(request.url);
  switch (pathname) {
    case "/.well-known/oauth-protected-resource/mcp":
      return Response.json({
        resource: url,
        authorization_servers: [origin],
        scopes_supported: ["read"],
        ...resource,
      });
    case "/.well-known/oauth-authorization-server":
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        revocation_endpoint: `${origin}/revoke`,
        registration_endpoint: `${origin}/register`,
        code_challenge_methods_supported: ["S256"],
        ...metadata,
      });
    case "/register": {
      const client = await request.json();
      registered?.push(client);
      return Response.json({
        ...client,
        client_id: server.register?.(client) ?? clientId,
        client_secret: "our-secret",
      }, { status: 201 });
    }
  }
  if (pathname.startsWith("/.well-known/")) {
    await request.body?.cancel();
    return new Response(null, { status: 404 });
  }
}

/** Answers a call that came without a token that counts. */
export function askToSignIn({ origin }: Pick<SignInServer, "origin">) {
  const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
  return new Response("sign in", {
    status: 401,
    headers: { "www-authenticate": `Bearer resource_metadata="${metadata}"` },
  });
}

type Tool = (call: ToolRequest) => Json | Response | Promise<Json | Response>;

/** Prints messages as the events of a stream. */
export function events(...messages: Json[]): Response {
  const text = messages.map((it) =>
    `data: ${JSON.stringify({ jsonrpc: "2.0", ...it })}\n\n`
  );
  return new Response(text.join(""), {
    headers: { "content-type": "text/event-stream" },
  });
}

export class McpService extends TokenService {
  /** Its tools; one answers who it is called by. */
  tools: Record<string, Tool> = {
    who: ({ account }) => ({ content: [{ type: "text", text: account }] }),
  };
  /** The accounts of pasted keys. */
  keys: Record<string, string> = {};
  /** Members of its metadata as a resource, and as an authorization server. */
  resource: Json = {};
  metadata: Json = {};
  /** The messages that came, but for those without a token. */
  readonly messages: Json[] = [];
  /** The forms of its endpoints for tokens. */
  readonly forms: URLSearchParams[] = [];
  /** The clients that it has registered. */
  readonly registered: Json[] = [];
  /** The accounts of its sessions, by their ids. */
  readonly sessions = new Map<string, string>();
  register?: (client: Json) => string;
  #ids = 0;

  constructor(
    public generation: "2025" | "2026" = "2026",
    name?: string,
  ) {
    super(name);
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Lets it register each client under its own name. */
  registerEach(): void {
    this.register = () => {
      const name = `${this.clientId}-${this.clients.size + 1}`;
      this.clients.add(name);
      return name;
    };
  }

  /** Declares it as a service of tools. */
  server(options: Partial<Omit<McpServerOptions, "key" | "open">> = {}) {
    return mcpServer(this.name, { url: this.url, title: "Other", ...options });
  }

  override async serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const own = await this.answer?.(request, pathname);
    if (own) return own;
    if (pathname === "/mcp") return await this.#serveMcp(request);
    const introduced = await introduce(request, this);
    if (introduced) return introduced;
    if (request.method === "POST") {
      const text = await request.clone().text();
      this.forms.push(new URLSearchParams(text));
    }
    return await super.serve(request);
  }

  async #serveMcp(request: Request): Promise<Response> {
    const token = request.headers.get("authorization")?.slice(7) ?? "";
    const { account = this.keys[token] } =
      this.grants.find(({ access }) => access.has(token)) ?? {};
    if (account === undefined) {
      await request.body?.cancel();
      return askToSignIn(this);
    }
    const session = request.headers.get("mcp-session-id") ?? "";
    if (request.method === "DELETE") {
      this.sessions.delete(session);
      return new Response();
    }
    const message = await request.json();
    this.messages.push(message);
    const { id, method, params } = message;
    if (id === undefined || method === undefined) {
      return new Response(null, { status: 202 });
    }
    const answer = (result: Json, headers?: HeadersInit) =>
      Response.json({ jsonrpc: "2.0", id, result }, { headers });
    const refuse = (code: number, words: string, status = 400) =>
      Response.json({ jsonrpc: "2.0", id, error: { code, message: words } }, {
        status,
      });
    if (this.generation === "2025") {
      if (method === "initialize") {
        const sessionId = `session-${++this.#ids}`;
        this.sessions.set(sessionId, account);
        return answer({
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "other", version: "1" },
        }, { "mcp-session-id": sessionId });
      }
      if (session === "") return refuse(-32000, "No session");
      const isKnown = this.sessions.get(session) === account;
      if (!isKnown) return refuse(-32001, "No such session", 404);
    } else if (method === "server/discover") {
      return answer(DISCOVERED);
    }
    const tool = this.tools[params?.name];
    if (method !== "tools/call" || !tool) {
      return refuse(-32602, `Unknown tool: ${params?.name}`);
    }
    const made = await tool({ account, params, id, request });
    return made instanceof Response ? made : answer(made);
  }
}
