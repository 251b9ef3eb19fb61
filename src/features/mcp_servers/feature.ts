/**
 * Other MCP servers at which people have accounts: sign-in there, and calls of
 * their tools.
 *
 * @module
 */
import type { OnAccountPage } from "../account_page/feature.ts";
import { mcpKindOf } from "../accounts/kind_port.ts";

export const mcpServersFeature: OnAccountPage = {
  name: "mcp_servers",
  accountPage: () => import("./on_account_page.ts"),
  open(server) {
    let kind: ReturnType<NonNullable<ReturnType<typeof mcpKindOf>["load"]>>;
    mcpKindOf(server).load = () =>
      kind ??= import("./mcp_kind.ts").then((it) => it.mcpKind(server));
    return {};
  },
};
