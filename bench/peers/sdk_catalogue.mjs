/**
 * The catalogue on the official SDK's `McpServer`, whose two lines agree on
 * `registerTool`.
 *
 * @module
 */
import {
  count,
  echo,
  echoResult,
  fillerResult,
  fillers,
  health,
  healthResult,
  runCount,
} from "./catalogue.mjs";

/**
 * Registers every tool. `input` is the schema or, if the SDK wants only that,
 * its shape.
 */
export function register(server, schema = (object) => object) {
  server.registerTool(health.name, {
    description: health.description,
    inputSchema: schema(health.input),
    outputSchema: schema(health.output),
  }, healthResult);
  server.registerTool(echo.name, {
    description: echo.description,
    inputSchema: schema(echo.input),
  }, echoResult);
  server.registerTool(count.name, {
    description: count.description,
    inputSchema: schema(count.input),
  }, (input, extra) => {
    // The second line of the SDK moved the request under `mcpReq`.
    const { _meta: meta, notify, sendNotification } = extra.mcpReq ?? extra;
    const progressToken = meta?.progressToken;
    return runCount(
      input,
      (progress, total, message) =>
        (notify ?? sendNotification)({
          method: "notifications/progress",
          params: { progressToken, progress, total, message },
        }),
    );
  });
  for (const { name, description, input } of fillers) {
    const inputSchema = schema(input);
    server.registerTool(name, { description, inputSchema }, fillerResult);
  }
  return server;
}
