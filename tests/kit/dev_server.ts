/**
 * A server on a port with the built-in provider, and people who sign in there
 * with real clients.
 *
 * @module
 */
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { createServer, type Server, type Tool } from "../../src/mod.ts";
import { Browser } from "./browser.ts";
import { openTestKv } from "./databases.ts";
import { SILENT } from "./log.ts";
import { RememberedSignIn } from "./remembered_sign_in.ts";

/** Starts a server with `OAUTH_PROVIDER=dev`. */
export async function devServer(
  tools: readonly Tool[],
): Promise<{ url: string } & AsyncDisposable> {
  const kv = await openTestKv();
  const http = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request): Response | Promise<Response> => server.fetch(request),
  );
  const url = `http://127.0.0.1:${http.addr.port}`;
  const server: Server = createServer({
    log: SILENT,
    name: "dev",
    version: "1.0.0",
    tools: [...tools],
    kv,
    env: { BASE_URL: url, AUTH_STRATEGY: "oauth", OAUTH_PROVIDER: "dev" },
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      await http.shutdown();
      await server[Symbol.asyncDispose]();
      await kv[Symbol.asyncDispose]();
    },
  };
}

/** Lets a person sign in at the built-in provider for a client at an address. */
export async function signInByName(
  url: URL,
  name: string,
): Promise<RememberedSignIn> {
  const authProvider = new RememberedSignIn();
  const refused = new StreamableHTTPClientTransport(url, { authProvider });
  const newcomer = new Client({ name: "newcomer", version: "1" });
  await assert.rejects(newcomer.connect(refused), /unauthorized/i);
  const browser = new Browser(({ origin }) =>
    origin === url.origin ? fetch : undefined
  );
  const consent = await browser.open(authProvider.sentTo!);
  const page = await browser.press(consent, "decision", "approve");
  const back = await browser.press(page, "name", name);
  await refused.finishAuth(new URL(back.url).searchParams);
  return authProvider;
}

/** Calls a tool with the tokens of a sign-in, without asking for another one. */
export async function callSignedIn(
  url: URL,
  authProvider: RememberedSignIn,
  name: string,
  input?: Record<string, unknown>,
): Promise<{ content: unknown; structuredContent?: unknown }> {
  const client = new Client({ name: "newcomer", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(url, { authProvider }),
  );
  try {
    return await client.callTool({ name, arguments: input });
  } finally {
    await client.close();
  }
}
