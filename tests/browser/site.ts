/**
 * A server on a real port, whose people sign in with the development provider,
 * and a client of it.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { createServer } from "../../src/server.ts";
import type { Server } from "../../src/core/server/server_options.ts";
import { IMPLEMENTATION } from "../kit/server.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import type { Tool } from "../../src/authoring/tool.ts";
import { randomId } from "../../src/core/crypto/crypto.ts";
import { tool } from "../../src/authoring/tool.ts";
import { codeChallenge } from "../../src/core/oauth/pkce.ts";
import { SILENT } from "../kit/log.ts";
import { TestBrowser } from "./browser.ts";

const TOOLS = [
  tool({
    name: "who_am_i",
    title: "Who am I",
    description: "Tells who is calling.",
    scopes: ["profile:read"],
    run: (_input, { caller }) => caller.identity?.name ?? "no one",
  }),
];

/** The server, a browser, and a page on another origin. */
export class Site implements AsyncDisposable {
  private constructor(
    readonly origin: string,
    private readonly opened: TestBrowser,
    private readonly server: Deno.HttpServer<Deno.NetAddr>,
    private readonly app: Server,
    private readonly kv: Deno.Kv,
  ) {}

  /** @param host the name of this machine in the server's address */
  static async start(
    environment: Environment = {},
    { host = "127.0.0.1", tools = TOOLS }: {
      host?: string;
      tools?: readonly Tool[];
    } = {},
  ): Promise<Site> {
    const kv = await Deno.openKv(":memory:");
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => app.fetch(request),
    );
    const origin = `http://${host}:${server.addr.port}`;
    const app: Server = createServer({
      log: SILENT,
      ...IMPLEMENTATION,
      tools,
      kv,
      env: {
        BASE_URL: origin,
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "dev",
        ...environment,
      },
    });
    return new Site(origin, await TestBrowser.open(), server, app, kv);
  }

  get browser(): Browser {
    return this.opened.browser;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.opened[Symbol.asyncDispose]();
    this.app.stop();
    await this.app.close();
    await this.server.shutdown();
    this.kv.close();
  }
}

/** A client that registered itself. */
export class Client {
  readonly state = randomId();
  readonly #verifier = randomId();

  private constructor(
    readonly site: Site,
    readonly clientId: string,
    readonly redirectUri: string,
  ) {}

  static async register(
    site: Site,
    redirectUri: string,
    name = "Test client",
  ): Promise<Client> {
    const response = await fetch(`${site.origin}/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: name,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "none",
      }),
    });
    const { client_id } = await response.json();
    return new Client(site, client_id, redirectUri);
  }

  get authorizationUrl(): string {
    return `${this.site.origin}/authorize?${new URLSearchParams({
      response_type: "code",
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      code_challenge: codeChallenge(this.#verifier),
      code_challenge_method: "S256",
      state: this.state,
      scope: "profile:read",
    })}`;
  }

  /** Exchanges a code for an access token. */
  async redeem(code: string): Promise<string> {
    const response = await fetch(`${this.site.origin}/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: this.clientId,
        redirect_uri: this.redirectUri,
        code_verifier: this.#verifier,
        code,
      }),
    });
    const { access_token } = await response.json();
    assert.equal(response.status, 200);
    return access_token;
  }

  whoAmI(accessToken: string): Promise<{ status: number; text: string }> {
    return this.call(accessToken, "who_am_i");
  }

  /** Calls a tool and gives the status and the text of its answer. */
  async call(
    accessToken: string,
    name: string,
    input: Record<string, unknown> = {},
  ): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.site.origin}/mcp`, {
      method: "POST",
      headers: {
        "authorization": `Bearer ${accessToken}`,
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name,
          arguments: input,
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    });
    return { status: response.status, text: await response.text() };
  }
}

/** The receiver of a client on this machine, which waits for its answer. */
export class LoopbackReceiver implements AsyncDisposable {
  readonly #answered = Promise.withResolvers<URLSearchParams>();
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      this.#answered.resolve(new URL(request.url).searchParams);
      return new Response("<title>Client</title>Back at the client", {
        headers: { "content-type": "text/html" },
      });
    },
  );

  get redirectUri(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/callback`;
  }

  /** The authorization response, once it has arrived. */
  get answer(): Promise<URLSearchParams> {
    return this.#answered.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Presses Approve on the consent page that is open. */
export async function approve(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Approve" }).click();
}

/** Types a name at the development provider. */
export async function signInAs(page: Page, name: string): Promise<void> {
  await page.getByRole("textbox", { name: "A name" }).fill(name);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Collects the complaints of the pages' policies in a context. */
export function policyComplaints(context: BrowserContext): string[] {
  const complaints: string[] = [];
  context.on("console", (message) => {
    if (/Content.Security.Policy/i.test(message.text())) {
      complaints.push(message.text());
    }
  });
  return complaints;
}
