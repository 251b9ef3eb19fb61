/** The official SDK, first line, with Express on Node: a transport per session. */
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { info, port } from "./catalogue.mjs";
import { register } from "./sdk_catalogue.mjs";

const sessions = new Map();
const app = express();
app.use(express.json());

app.post("/mcp", async (request, response) => {
  const sessionId = request.headers["mcp-session-id"];
  let transport = sessions.get(sessionId);
  if (sessionId && !transport) return response.sendStatus(404);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await register(new McpServer(info)).connect(transport);
  }
  await transport.handleRequest(request, response, request.body);
});

app.listen(port, "127.0.0.1");
