/**
 * A tool that calls one of another MCP server with its caller's own account,
 * which they connect once:
 * `AUTH_STRATEGY=oauth SECRETS_KEYS=… deno run -A mcp_server.ts`.
 */
import { mcpServer, serve, tool, z } from "@tool-server/tool-server";

const linear = mcpServer("linear", {
  url: "https://mcp.linear.app/mcp",
  title: "Linear",
});

export const reportFault = tool({
  name: "report_fault",
  description: "Reports a fault of our product to its team, as the caller.",
  input: z.object({
    title: z.string().min(1).max(200),
    seen: z.string().describe("What was seen, and what was expected instead."),
  }),
  needs: { linear },
  async run({ title, seen }, { needs }) {
    return await needs.linear.call("create_issue", {
      team: "Product",
      title,
      description: seen,
      labels: ["fault"],
    });
  },
});

if (import.meta.main) {
  await serve({ name: "faults", version: "1.0.0", tools: [reportFault] });
}
