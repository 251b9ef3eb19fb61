/**
 * A server with sign-in.
 *
 * @module
 */
import { createServer } from "../../src/server.ts";
import type { CreateServerOptions } from "../../src/core/server/server_options.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import type { ServerDefinitions } from "../../src/core/catalogue/compiled_definitions.ts";
import type { FetchDocument } from "../../src/core/store/documents.ts";
import { checkLayout } from "../../src/core/kv/layout.ts";
import { type Browser, browserOf } from "./browser.ts";
import { Client } from "./client.ts";
import { openTestKv } from "./databases.ts";
import { FakeProvider } from "./fake_provider.ts";
import { SILENT } from "./log.ts";
import type { HeadersOf, Json } from "./message.ts";
import {
  BASE_URL,
  IMPLEMENTATION,
  postForm,
  postJson,
  TestServer,
} from "./server.ts";

/** A test server on which people sign in with a {@linkcode FakeProvider}. */
export class OAuthServer extends TestServer {
  provider = new FakeProvider();

  /** A new browser that knows this server and its provider. */
  browser(): Browser {
    return browserOf(this);
  }

  /** Signs the provider's next person in with a client of their own. */
  async person(
    options?: Parameters<Client["signIn"]>[0],
  ): Promise<{ client: Client; tokens: Json; headers: HeadersOf }> {
    const client = await Client.register(this);
    const tokens = await client.connect(options);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    return { client, tokens, headers };
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

export interface OAuthServerOptions extends
  ServerDefinitions,
  Pick<
    CreateServerOptions,
    "scopes" | "permissions" | "log" | "sealing" | "around"
  > {
  kv?: Deno.Kv;
  version?: string;
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
  const own = kv ? undefined : await openTestKv();
  const database = kv ?? own!;
  // As at the start of a process: a test may write records before any request.
  if (own) await checkLayout(own);
  const app = createServer({
    ...IMPLEMENTATION,
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
  const server = new OAuthServer(app, database, own);
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
