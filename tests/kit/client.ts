/**
 * A client of a server with sign-in, which a person walks through it.
 *
 * @module
 */
import assert from "node:assert/strict";
import { codeChallenge } from "../../src/core/oauth/pkce.ts";
import { randomId } from "../../src/core/crypto/crypto.ts";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { type Arrival, type Browser, browserOf } from "./browser.ts";
import { type Json, rpc, statelessMeta } from "./message.ts";
import { type Answering, BASE_URL, postForm, postJson } from "./server.ts";

export const REDIRECT_URI = "https://app.example.com/cb";

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

  /** Lets a person approve, and returns the code. */
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

  /** Signs a person in, and returns the tokens. */
  async connect(options: Parameters<Client["signIn"]>[0] = {}): Promise<Json> {
    const { status, body } = await this.redeem(await this.signIn(options));
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  /** Calls a tool by a 2026 request. */
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

/**
 * Calls a tool with a token; returns the status, and the text of its result.
 */
export async function callWith(
  server: Answering,
  token: string,
  name = "whoami",
): Promise<{ status: number; text: string }> {
  const response = await new Client(server, "").call(token, name);
  const { result } = await response.json();
  return { status: response.status, text: result?.content[0].text };
}
