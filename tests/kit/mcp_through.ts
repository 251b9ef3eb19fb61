/**
 * A server whose tool calls those of an {@linkcode McpService}, and people who
 * have an account there.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Client, type ClientOptions } from "../../packages/client/mod.ts";
import { tool, z } from "../../src/mod.ts";
import type { McpCallOptions, McpServer } from "../../src/mod.ts";
import { AccountVisitor } from "./account_visitor.ts";
import { startConnected } from "./connected.ts";
import type { McpService } from "./mcp_service.ts";
import type { Json } from "./message.ts";
import { BASE_URL } from "./server.ts";
import type { OAuthServer } from "./sign_in.ts";

/** Makes a tool that calls one of another server. */
export function through(other: McpServer, options: McpCallOptions = {}) {
  return tool({
    name: "through",
    input: z.object({ tool: z.string(), input: z.json().optional() }),
    needs: { other },
    run: async ({ tool, input }, { needs, signal }) =>
      await needs.other.call(tool, input as Json, { signal, ...options }),
  });
}

/** Starts a server with this tool. */
export function startThrough(
  service: McpService,
  { call, issuer, ...options }: Parameters<typeof startConnected>[1] & {
    call?: McpCallOptions;
    issuer?: string;
  } = {},
): Promise<OAuthServer> {
  const other = service.server({ issuer });
  return startConnected(other, { tools: [through(other, call)], ...options });
}

/** Connects a person's account at the other server. */
export async function connectThere(
  server: OAuthServer,
  service: McpService,
  { as = "42", account = "ada@acme", link }: {
    as?: string;
    account?: string;
    link?: string;
  } = {},
): Promise<AccountVisitor> {
  const path = `/connect/${service.name}`;
  service.account = account;
  const issuers = [service.origin];
  const visitor = await AccountVisitor.signIn(server, { as, issuers });
  visitor.page = await visitor.browser.open(link ?? BASE_URL + path);
  await visitor.press(path, { answer: "connect" });
  await visitor.press(path, { answer: "connect" });
  assert.match(visitor.words, /is connected|Connected/);
  return visitor;
}

/** Makes a client of a person, which hears what a call tells and asks. */
export async function hearing(
  server: OAuthServer,
  { as = "42", ...options }: Partial<ClientOptions> & { as?: string } = {},
): Promise<Client> {
  server.provider.subject = as;
  const { headers } = await server.person();
  return new Client({
    url: `${BASE_URL}/mcp`,
    fetch: async (request) => await server.app.fetch(request),
    capabilities: {
      elicitation: { form: {}, url: {} },
      sampling: {},
      roots: {},
    },
    ...options,
    headers: () => headers as Record<string, string>,
  });
}

/** Calls the tool, and gives the words of its result. */
export async function callThrough(
  client: Client,
  name: string,
  input?: Json,
  signal?: AbortSignal,
): Promise<string> {
  const { content } = await client.request("tools/call", {
    name: "through",
    arguments: { tool: name, ...input && { input } },
  }, { signal });
  return (content as Json[]).map(({ text }) => text).join("\n");
}
