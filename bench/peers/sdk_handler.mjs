/** The official SDK, second line: `createMcpHandler`. */
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { info, port } from "./catalogue.mjs";
import { register } from "./sdk_catalogue.mjs";

const handler = createMcpHandler(() => register(new McpServer(info)));
Deno.serve(
  { port, hostname: "127.0.0.1" },
  (request) => handler.fetch(request),
);
