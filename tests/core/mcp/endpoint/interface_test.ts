/**
 * The interface specification, row by row. The answers of the sign-in endpoints
 * have tests of their own.
 *
 * @module
 */
import assert from "node:assert/strict";
import * as z from "zod";
import { VERSION } from "../../../../src/core/version.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { initialize, rpc } from "../../../kit/message.ts";
import { outcome } from "../../../kit/answer.ts";
import { startServer } from "../../../kit/server.ts";

const greet = tool({
  name: "greet",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}`,
});

const CALL = rpc("tools/call", { name: "greet", arguments: { name: "Ada" } });

function start() {
  return startServer({ tools: [greet] });
}

Deno.test("POST /mcp initialize answers with a new Mcp-Session-Id", async () => {
  await using server = await start();
  const ids = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const response = await server.post(initialize("2025-11-25"));
    assert.equal(response.status, 200);
    const id = response.headers.get("mcp-session-id")!;
    assert.match(id, /^[\x21-\x7e]{43}$/);
    ids.add(id);
    assert.deepEqual(await response.json(), {
      jsonrpc: "2.0",
      id: 1,
      result: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, logging: {} },
        serverInfo: {
          name: "tool-server",
          title: "Tool Server",
          version: VERSION,
        },
      },
    });
  }
  assert.equal(ids.size, 20);
});

Deno.test("GET /mcp is always 405 and names the methods that are allowed", async () => {
  await using server = await start();
  const session = await server.openSession();
  for (
    const headers of [
      new Headers(),
      new Headers({ accept: "text/event-stream" }),
      new Headers({ "mcp-session-id": session.id }),
    ]
  ) {
    const response = await server.fetch("/mcp", { headers });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST, DELETE, OPTIONS");
    await response.body?.cancel();
  }
});

Deno.test("DELETE /mcp ends the session: 202, then 404 for everything", async () => {
  await using server = await start();
  const session = await server.openSession();
  const response = await session.end();
  assert.equal(response.status, 202);
  assert.equal(response.body, null);
  assert.equal((await outcome(session.end())).status, 404);
  assert.equal((await outcome(session.post(CALL))).status, 404);
  const none = server.fetch("/mcp", { method: "DELETE" });
  assert.equal((await outcome(none)).status, 400);
});

Deno.test("GET /health tells the status and the time in milliseconds", async () => {
  await using server = await start();
  const before = Date.now();
  const response = await server.fetch("/health");
  assert.equal(response.status, 200);
  const { status, timestamp, ...rest } = await response.json();
  assert.equal(status, "ok");
  assert.ok(timestamp >= before && timestamp <= Date.now());
  assert.deepEqual(rest, {});
});

Deno.test("OPTIONS is answered everywhere, and reflects the headers asked for", async () => {
  await using server = await start();
  for (const path of ["/mcp", "/health", "/nowhere"]) {
    const response = await server.fetch(path, {
      method: "OPTIONS",
      headers: {
        origin: "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, mcp-param-region",
      },
    });
    assert.equal(response.status, 204, path);
    const { headers } = response;
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.equal(
      headers.get("access-control-allow-headers"),
      "authorization,mcp-param-region",
    );
    assert.match(headers.get("access-control-allow-methods")!, /DELETE/);
  }
});

Deno.test("an answer carries CORS headers where a page asks for it, refusals always", async () => {
  await using server = await start();
  const session = await server.openSession();
  const origin = { origin: "http://localhost:5173" };
  for (const [sent, expected] of [[origin, "*"], [{}, null]] as const) {
    for (
      const answer of [
        session.post(CALL, sent),
        server.call("server/discover", {}, { headers: sent }),
      ]
    ) {
      const { headers, body } = await answer;
      assert.equal(headers.get("access-control-allow-origin"), expected);
      assert.equal(headers.has("access-control-expose-headers"), !!expected);
      await body?.cancel();
    }
  }
  const answers: Record<string, Promise<Response>> = {
    "a result": session.post(CALL, origin),
    "a notification": session.notify("notifications/initialized"),
    "no session": server.post(CALL),
    "an unknown session": server.post(CALL, { "mcp-session-id": "unknown" }),
    "not JSON": server.post("{"),
    "a foreign origin": server.post(CALL, { origin: "https://evil.example" }),
    "GET": server.fetch("/mcp"),
    "DELETE": session.end(),
    "health": server.fetch("/health"),
    "nothing there": server.fetch("/nowhere"),
    "2026": server.call("server/discover", {}, { headers: origin }),
  };
  for (const [what, answer] of Object.entries(answers)) {
    const { headers, body } = await answer;
    assert.equal(headers.get("access-control-allow-origin"), "*", what);
    const exposed = headers.get("access-control-expose-headers")!;
    for (
      const name of [
        "Mcp-Session-Id",
        "WWW-Authenticate",
        "Mcp-Protocol-Version",
      ]
    ) assert.ok(exposed.includes(name), `${what}: ${name}`);
    await body?.cancel();
  }
});
