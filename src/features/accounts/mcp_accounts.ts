/**
 * MCP servers as services; the implementation is loaded on first use.
 *
 * @module
 */
import type {
  Account,
  McpAccount,
  OAuthAccount,
  OpenMcpServer,
} from "../../authoring/account.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";
import type { AccountClient } from "./account_client.ts";
import { type McpCallAccount, type McpPort, mcpPortOf } from "./mcp_port.ts";

async function load(server: OpenedServer): Promise<McpPort> {
  const { load } = mcpPortOf(server);
  if (load) return await load();
  throw new Error("This server is built without the feature mcp_servers");
}

export function mcpClientOf(
  service: OAuthAccount,
  server: OpenedServer,
): AccountClient {
  let making: ReturnType<McpPort["client"]> | undefined;
  const client = () =>
    making ??= load(server).then((port) => port.client(service));
  return {
    id: fingerprint(JSON.stringify(["mcp", service.name, service.api])),
    canRevoke: async (it) => await (await client()).canRevoke(it),
    findServer: async (it) => await (await client()).findServer(it),
    authorizationUrl: async (it) => await (await client()).authorizationUrl(it),
    checkIssuer: async (...it) => await (await client()).checkIssuer(...it),
    redeem: async (it) => await (await client()).redeem(it),
    refresh: async (...it) => await (await client()).refresh(...it),
    revoke: async (it) => await (await client()).revoke(it),
  };
}

/** Adds `call` to an account at an MCP server. */
export function mcpAccountOf(
  account: Account,
  parts: McpCallAccount,
  server: OpenedServer,
): McpAccount {
  const call: McpAccount["call"] = async (...it) =>
    await (await load(server)).call(parts, ...it);
  return Object.assign(account, { call });
}

/** Makes the account object for an MCP server without sign-in. */
export function openMcpAccount(
  service: OpenMcpServer,
  call: Pick<McpCallAccount, "acting" | "context" | "send">,
  server: OpenedServer,
): McpAccount {
  const reveal = () => Promise.resolve("");
  const connection = () => Promise.resolve(call.context.caller.binding);
  return mcpAccountOf(
    { fetch: call.acting.fetch(call.send), reveal },
    { ...call, service, connection },
    server,
  );
}
