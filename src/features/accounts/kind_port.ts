/**
 * The port for services that another feature knows: MCP servers. An MCP server
 * says itself where people sign in, and tools call it by methods of its own.
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
import { ofServer, type OpenedServer } from "../../core/store/opened_server.ts";
import type { Acting } from "../../core/mcp/exchange/author_code.ts";
import type { AccountClient } from "./account_client.ts";

/** The account of one call, for a kind of services with calls of its own. */
export interface AccountInCall {
  service: AccountService;
  context: Context;
  /** Bounds all requests by the call. */
  acting: Acting;
  /** Sends a request, even after the end of the call. */
  send: AccountFetch;
  /**
   * Returns a name of the account's connection that no other connection has.
   */
  connection(): Promise<string>;
}

/** The services of one kind in one server. */
export interface ServiceKind {
  /** Makes our client of a service. Nothing is fetched yet. */
  client(service: OAuthAccount): Promise<Omit<Required<AccountClient>, "id">>;
  call(
    account: AccountInCall,
    ...call: Parameters<McpAccount["call"]>
  ): ReturnType<McpAccount["call"]>;
}

/** The kind of MCP servers, loaded when it is needed. */
export const mcpKindOf = ofServer((
  _server: OpenedServer,
): { load?: () => Promise<ServiceKind> } => ({}));
