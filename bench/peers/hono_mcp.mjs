/** `@hono/mcp`, on the official SDK's first line: a transport per session. */
import { StreamableHTTPTransport } from "@hono/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Hono } from "hono";
import { info, port } from "./catalogue.mjs";
import { register } from "./sdk_catalogue.mjs";

const sessions = new Map();
const app = new Hono();

app.all("/mcp", async (context) => {
  const sessionId = context.req.header("mcp-session-id");
  if (sessionId) {
    const transport = sessions.get(sessionId);
    return transport?.handleRequest(context) ?? context.notFound();
  }
  const transport = new StreamableHTTPTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await register(new McpServer(info)).connect(transport);
  return transport.handleRequest(context);
});

Deno.serve({ port, hostname: "127.0.0.1" }, app.fetch);
