/** A whole call, from the request to its response, without the socket. */
import { createServer } from "../../src/server.ts";
import { callHealth, request } from "../client.ts";
import health from "../../health.ts";

const app = createServer({
  name: "bench",
  version: "1",
  tools: [health],
  log: { level: "off" },
  kv: await Deno.openKv(":memory:"),
});

function post(revision: string, sessionId?: string) {
  const { headers, body } = request(
    { port: 3000, revision, sessionId },
    callHealth,
    1,
  );
  const init = { method: "POST", headers, body };
  return app.fetch(new Request("http://127.0.0.1:3000/mcp", init));
}

async function openSession(): Promise<string> {
  const { headers, body } = request({ port: 3000, revision: "2025-11-25" }, {
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "bench", version: "1.0.0" },
    },
  }, 1);
  const init = { method: "POST", headers, body };
  const response = await app.fetch(
    new Request("http://127.0.0.1:3000/mcp", init),
  );
  return response.headers.get("mcp-session-id")!;
}

const sessionId = await openSession();

Deno.bench("a Request and a Response alone, for comparison", async () => {
  const { headers, body } = request(
    { port: 3000, revision: "2026-07-28" },
    callHealth,
    1,
  );
  const init = { method: "POST", headers, body };
  const incoming = new Request("http://127.0.0.1:3000/mcp", init);
  Response.json(await incoming.json());
});

Deno.bench("tools/call health in a 2025 session", async () => {
  await post("2025-11-25", sessionId);
});

Deno.bench("tools/call health in 2026", async () => {
  await post("2026-07-28");
});
