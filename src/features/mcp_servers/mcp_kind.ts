/**
 * Implements MCP servers as services of the feature `accounts`.
 *
 * @module
 */
import type { OpenedServer } from "../../core/store/opened_server.ts";
import type { ServiceKind } from "../accounts/kind_port.ts";
import { Connections } from "./connections.ts";
import { callThere } from "./mcp_call.ts";

export function mcpKind(server: OpenedServer): ServiceKind {
  const connections = new Connections();
  return {
    async client(service) {
      const { McpAccountClient } = await import("./mcp_client.ts");
      return new McpAccountClient(service, server);
    },
    call: (account, tool, input = {}, options = {}) =>
      callThere({ ...account, connections }, { tool, input, options }),
  };
}
