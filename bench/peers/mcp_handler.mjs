/** `mcp-handler`, on the official SDK's second line. */
import { createMcpHandler } from "mcp-handler";
import { info, port } from "./catalogue.mjs";
import { register } from "./sdk_catalogue.mjs";

const handler = createMcpHandler((server) => void register(server), {
  serverInfo: info,
});
Deno.serve({ port, hostname: "127.0.0.1" }, (request) => handler(request));
