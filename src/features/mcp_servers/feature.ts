/**
 * Other MCP servers as accounts of people: sign-in there, and calls of their
 * tools.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";
import { mcpKindOf } from "../accounts/kind_port.ts";

export const mcpServersFeature: Feature = {
  name: "mcp_servers",
  open(server) {
    let kind: ReturnType<NonNullable<ReturnType<typeof mcpKindOf>["load"]>>;
    mcpKindOf(server).load = () =>
      kind ??= import("./mcp_kind.ts").then((it) => it.mcpKind(server));
    return {};
  },
};
