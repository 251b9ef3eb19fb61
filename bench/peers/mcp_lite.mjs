/** `mcp-lite` with its in-memory sessions. */
import {
  InMemorySessionAdapter,
  McpServer,
  StreamableHttpTransport,
} from "mcp-lite";
import { z } from "zod";
import {
  count,
  echo,
  echoResult,
  fillerResult,
  fillers,
  health,
  healthResult,
  info,
  port,
  runCount,
} from "./catalogue.mjs";

const server = new McpServer({
  ...info,
  schemaAdapter: (schema) => z.toJSONSchema(schema),
});
server.tool(health.name, {
  description: health.description,
  inputSchema: health.input,
  outputSchema: health.output,
  handler: healthResult,
});
server.tool(echo.name, {
  description: echo.description,
  inputSchema: echo.input,
  handler: echoResult,
});
server.tool(count.name, {
  description: count.description,
  inputSchema: count.input,
  handler: (input, context) =>
    runCount(
      input,
      (progress, total, message) =>
        context.progress?.({ progress, total, message }),
    ),
});
for (const { name, description, input } of fillers) {
  server.tool(name, { description, inputSchema: input, handler: fillerResult });
}

const transport = new StreamableHttpTransport({
  sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }),
});
const handle = transport.bind(server);
Deno.serve({ port, hostname: "127.0.0.1" }, (request) => handle(request));
