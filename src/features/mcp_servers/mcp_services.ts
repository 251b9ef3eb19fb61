import type { OpenedServer } from "../../core/store/opened_server.ts";
import type { McpPort } from "../accounts/mcp_port.ts";
import { McpConnections } from "./connections.ts";
import { callMcpTool } from "./mcp_call.ts";

export function mcpServices(server: OpenedServer): McpPort {
  const connections = new McpConnections();
  return {
    async client(service) {
      const { McpAccountClient } = await import("./mcp_client.ts");
      return new McpAccountClient(service, server);
    },
    call: (account, tool, input = {}, options = {}) =>
      callMcpTool({ ...account, connections }, { tool, input, options }),
  };
}
