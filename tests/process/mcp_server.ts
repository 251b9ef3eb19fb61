/**
 * The process of a server whose tool calls one of another MCP server. Each run
 * writes the ID of its process into the file `WALK_LOG`.
 *
 * @module
 */
import { mcpServer, serve, tool, z } from "../../src/mod.ts";

const other = mcpServer("crm", {
  url: Deno.env.get("WALK_API")!,
  title: "Other",
});

await serve({
  name: "through",
  version: "1",
  tools: [
    tool({
      name: "through",
      input: z.object({ tool: z.string() }),
      needs: { other },
      run: async ({ tool }, { needs }) => {
        const log = Deno.env.get("WALK_LOG")!;
        Deno.writeTextFileSync(log, `${Deno.pid}\n`, { append: true });
        return await needs.other.call(tool);
      },
    }),
  ],
});
