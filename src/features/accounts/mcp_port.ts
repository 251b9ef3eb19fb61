/**
 * The interface of the feature `mcp_servers`, which provides MCP servers as
 * services: sign-in by the server's own metadata, and calls of its tools.
 *
 * @module
 */
import type {
  AccountFetch,
  AccountService,
  McpAccount,
  OAuthAccount,
} from "../../authoring/account.ts";
import type { Context } from "../../authoring/context.ts";
import {
  makeOncePerServer,
  type OpenedServer,
} from "../../core/store/opened_server.ts";
import type { Acting } from "../../core/mcp/exchange/author_code.ts";
import type { AccountClient } from "./account_client.ts";

/** The account through which one call uses an MCP server. */
export interface McpCallAccount {
  service: AccountService;
  context: Context;
  /** Ends all requests when the call ends. */
  acting: Acting;
  /** Sends a request, even after the call has ended. */
  send: AccountFetch;
  /** Returns the unique name of the account's connection. */
  connection(): Promise<string>;
  /**
   * Records that the server wants more scopes. True if the next call asks the
   * person to allow them.
   */
  widen?(scopes: readonly string[]): Promise<boolean>;
}

export interface McpPort {
  /** Makes our OAuth client of a server, without a request. */
  client(service: OAuthAccount): Promise<Omit<Required<AccountClient>, "id">>;
  call(
    account: McpCallAccount,
    ...call: Parameters<McpAccount["call"]>
  ): ReturnType<McpAccount["call"]>;
}

/** The loader that the feature `mcp_servers` sets. */
export const mcpPortOf = makeOncePerServer((
  _server: OpenedServer,
): { load?: () => Promise<McpPort> } => ({}));
