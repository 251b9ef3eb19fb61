/**
 * A server with sign-in, and a client that walks through it.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createServer } from "../../src/server.ts";
import type { CreateServerOptions } from "../../src/server/server_options.ts";
import type { Environment } from "../../src/settings/setting.ts";
import { randomId } from "../../src/crypto/crypto.ts";
import type { Definitions } from "../../src/mcp/catalogue/compiled_definitions.ts";
import { codeChallenge } from "../../src/auth/rules/pkce.ts";
import { STATELESS_REVISION } from "../../src/mcp/wire/revisions.ts";
import type { FetchDocument } from "../../src/store/documents.ts";
import {
  INTRODUCTION,
  type Json,
  rpc,
  statelessMeta,
  TestServer,
} from "../kit.ts";
import { type Arrival, Browser } from "./browser.ts";
import { FakeProvider, PROVIDER_URL } from "./fake_provider.ts";

export { FakeProvider } from "./fake_provider.ts";
import { SILENT } from "../log/fixture.ts";

export const BASE_URL = "http://127.0.0.1:3000";
export const REDIRECT_URI = "https://app.example.com/cb";

/** A test server on which people sign in with a {@linkcode FakeProvider}. */
export class OAuthServer extends TestServer {
  provider = new FakeProvider();

  /** A new browser that knows this server and its provider. */
  browser(): Browser {
    return browserOf(this);
  }

  /** Posts a form. */
  form(
    path: string,
    parameters: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return postForm(this, path, parameters, headers);
  }

  /** Posts JSON. */
  json(path: string, body: unknown): Promise<Response> {
    return postJson(this, path, body);
  }
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

/** Opens a browser of a person whom the provider signs in at once. */
export function browserOf(server: Answering, baseUrl = BASE_URL): Browser {
  return new Browser(({ origin }) => {
    if (origin === PROVIDER_URL) return signInAtOnce;
    if (origin !== baseUrl) return undefined;
    return (request) =>
      server.fetch(request.url.slice(baseUrl.length), request);
  });
}

function signInAtOnce({ url }: Request): Promise<Response> {
  const { searchParams } = new URL(url);
  const back = new URL(searchParams.get("redirect_uri")!);
  for (const name of ["state", "code"]) {
    back.searchParams.set(name, searchParams.get(name)!);
  }
  return Promise.resolve(
    new Response(null, { status: 302, headers: { location: back.href } }),
  );
}

export interface OAuthServerOptions
  extends
    Definitions,
    Pick<CreateServerOptions, "scopes" | "permissions" | "log"> {
  kv?: Deno.Kv;
  provider?: FakeProvider;
  environment?: Environment;
  baseUrl?: string;
  fetchDocument?: FetchDocument;
}

/** Starts a server with sign-in. */
export async function startOAuthServer(
  {
    kv,
    provider = new FakeProvider(),
    environment,
    fetchDocument,
    baseUrl = BASE_URL,
    log = SILENT,
    ...definitions
  }: OAuthServerOptions = {},
): Promise<OAuthServer> {
  const database = kv ?? await Deno.openKv(":memory:");
  const app = createServer({
    ...INTRODUCTION,
    ...definitions,
    log,
    env: {
      BASE_URL: baseUrl,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "github",
      OAUTH_CLIENT_ID: "our-client",
      OAUTH_CLIENT_SECRET: "our-secret",
      ...environment,
    },
    kv: database,
    provider,
    fetchDocument,
  });
  const server = new OAuthServer(app, database, kv === undefined);
  server.provider = provider;
  return server;
}

/** Starts a server with sign-in that listens; its public origin is its own. */
export async function serveOAuthServer(
  options: OAuthServerOptions = {},
): Promise<{ server: OAuthServer; url: string } & AsyncDisposable> {
  const ready = Promise.withResolvers<OAuthServer>();
  const listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => await (await ready.promise).app.fetch(request),
  );
  const url = `http://127.0.0.1:${listener.addr.port}`;
  const server = await startOAuthServer({ ...options, baseUrl: url });
  ready.resolve(server);
  return {
    server,
    url,
    async [Symbol.asyncDispose]() {
      await listener.shutdown();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The answer of a token request. */
export interface TokenAnswer {
  status: number;
  body: Json;
  headers: Headers;
}

/** A client that behaves as MCP clients do: discovery, registration, PKCE. */
export class Client {
  readonly verifier = randomId();
  readonly state = randomId();

  constructor(
    /**
     * The server for its requests; another process may take over at any step.
     */
    public server: Answering,
    readonly clientId: string,
    readonly redirectUri = REDIRECT_URI,
    readonly clientSecret?: string,
  ) {}

  /** Registers a client. */
  static async register(
    server: Answering,
    metadata: Json = {},
  ): Promise<Client> {
    const response = await postJson(server, "/register", {
      redirect_uris: [REDIRECT_URI],
      client_name: "App",
      ...metadata,
    });
    assert.equal(response.status, 201);
    const { client_id, client_secret, redirect_uris } = await response.json();
    return new Client(server, client_id, redirect_uris[0], client_secret);
  }

  authorizationUrl(changes: Record<string, string> = {}): string {
    const parameters = new URLSearchParams({
      response_type: "code",
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      code_challenge: codeChallenge(this.verifier),
      code_challenge_method: "S256",
      state: this.state,
      resource: `${BASE_URL}/mcp`,
      ...changes,
    });
    return `${BASE_URL}/authorize?${parameters}`;
  }

  /** Lets a person approve, and gives the code. */
  async signIn(
    { browser = browserOf(this.server), ...changes }:
      & { browser?: Browser }
      & Record<string, unknown> = {},
  ): Promise<string> {
    const page = await browser.open(
      this.authorizationUrl(changes as Record<string, string>),
    );
    const arrival = await browser.press(page, "decision", "approve");
    return this.codeFrom(arrival);
  }

  codeFrom({ url, text }: Arrival): string {
    assert(url.startsWith(this.redirectUri), `${url} ${text}`);
    const { searchParams } = new URL(url);
    assert.equal(searchParams.get("state"), this.state);
    assert.equal(searchParams.get("iss"), BASE_URL);
    return searchParams.get("code")!;
  }

  async token(parameters: Record<string, string>): Promise<TokenAnswer> {
    const response = await postForm(this.server, "/token", {
      client_id: this.clientId,
      ...this.clientSecret && { client_secret: this.clientSecret },
      ...parameters,
    });
    const { status, headers } = response;
    return { status, headers, body: await response.json() };
  }

  redeem(code: string, changes: Record<string, string> = {}) {
    return this.token({
      grant_type: "authorization_code",
      code,
      code_verifier: this.verifier,
      redirect_uri: this.redirectUri,
      ...changes,
    });
  }

  refresh(refreshToken: string, changes: Record<string, string> = {}) {
    return this.token({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      ...changes,
    });
  }

  /** Walks the whole way to tokens. */
  async connect(
    options: Parameters<Client["signIn"]>[0] = {},
  ): Promise<Json> {
    const { status, body } = await this.redeem(await this.signIn(options));
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  /** Calls a tool the 2026 way. */
  call(accessToken: string, name: string, input: Json = {}): Promise<Response> {
    const _meta = statelessMeta();
    const params = { name, arguments: input, _meta };
    return postJson(this.server, "/mcp", rpc("tools/call", params), {
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${accessToken}`,
      "mcp-protocol-version": STATELESS_REVISION,
      "mcp-method": "tools/call",
      "mcp-name": name,
    });
  }
}
