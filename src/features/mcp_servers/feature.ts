/**
 * Other MCP servers at which people have accounts: sign-in there, and calls of
 * their tools.
 *
 * @module
 */
import type { OnAccountPage } from "../account_page/feature.ts";
import { type McpPort, mcpPortOf } from "../accounts/mcp_port.ts";

export const mcpServersFeature: OnAccountPage = {
  name: "mcp_servers",
  accountPage: () => import("./on_account_page.ts"),
  open(server) {
    let port: Promise<McpPort> | undefined;
    mcpPortOf(server).load = () =>
      port ??= import("./mcp_services.ts").then((it) => it.mcpServices(server));
    return {};
  },
};
