/** `fastmcp`, with its own HTTP server. */
import { FastMCP } from "fastmcp";
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

const server = new FastMCP({ ...info, version: "1.0.0" });
server.addTool({
  name: health.name,
  description: health.description,
  parameters: health.input,
  outputSchema: health.output,
  execute: healthResult,
});
server.addTool({
  name: echo.name,
  description: echo.description,
  parameters: echo.input,
  execute: echoResult,
});
server.addTool({
  name: count.name,
  description: count.description,
  parameters: count.input,
  execute: (input, context) =>
    runCount(
      input,
      (progress, total) => context.reportProgress({ progress, total }),
    ),
});
for (const { name, description, input } of fillers) {
  server.addTool({
    name,
    description,
    parameters: input,
    execute: fillerResult,
  });
}

await server.start({
  transportType: "httpStream",
  httpStream: { port, host: "127.0.0.1" },
});
