/**
 * A whole call, from the request to its response, without the socket, and the
 * cache in front of the database.
 */
import { createServer } from "../../src/server.ts";
import type { EncodedRequest } from "../../packages/client/mod.ts";
import { callHealth, initialize, request } from "../client.ts";
import health from "../../health.ts";
import { recentReads } from "../../src/core/cache.ts";

const app = createServer({
  name: "bench",
  version: "1",
  tools: [health],
  log: { level: "off" },
  kv: await Deno.openKv(":memory:"),
});

const URL_OF_MCP = "http://127.0.0.1:3000/mcp";

/** Makes a request with every header and its body, as it would arrive. */
function arrive({ headers, body }: EncodedRequest): Request {
  return new Request(URL_OF_MCP, { method: "POST", headers, body });
}

const [SESSIONS, STATELESS] = ["2025-11-25", "2026-07-28"] as const;
const opened = await app.fetch(
  arrive(await request({ port: 3000, revision: SESSIONS }, initialize, "1")),
);
const sessionId = opened.headers.get("mcp-session-id")!;
const session = await request(
  { port: 3000, revision: SESSIONS, sessionId },
  callHealth,
  "1",
);
const stateless = await request(
  { port: 3000, revision: STATELESS },
  callHealth,
  "1",
);

Deno.bench("a Request and a Response alone, for comparison", async () => {
  Response.json(await arrive(stateless).json());
});

Deno.bench("tools/call health in a 2025 session", async () => {
  await app.fetch(arrive(session));
});

Deno.bench("tools/call health in 2026", async () => {
  await app.fetch(arrive(stateless));
});

const sessions = recentReads((name) => Promise.resolve(name));
await sessions.find("session");

Deno.bench("find() of what was read a moment ago", async () => {
  const found = sessions.find("session");
  if (found instanceof Promise) await found;
});
