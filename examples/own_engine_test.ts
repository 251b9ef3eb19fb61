import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { testServer } from "@tool-server/tool-server/testing";
import { server as options } from "./own_engine.ts";

const REPORT_KEY = "0123456789abcdef";

/** An engine that keeps the events that it is sent, once for each ID. */
function startEngine() {
  const events = new Map<string, { year: number; token: string }>();
  const http = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { id, data } = await request.json();
      events.set(id, data);
      return Response.json({ ids: [id] });
    },
  );
  const env = {
    INNGEST_URL: `http://127.0.0.1:${http.addr.port}`,
    INNGEST_EVENT_KEY: "key",
    REPORT_KEY,
  };
  return { events, env, [Symbol.asyncDispose]: () => http.shutdown() };
}

for (
  const [report, expected] of [
    [{ pages: 12 }, /^The report of 2026 has 12 pages\.$/],
    [{ error: "no figures" }, /^No report: no figures$/],
  ] as const
) {
  Deno.test(`write_report goes on with ${JSON.stringify(report)}, though its process died`, async () => {
    await using engine = startEngine();
    await using server = await testServer({ ...options, env: engine.env });
    const task = await server.startTask("write_report", { year: 2026 });
    await server.advance(1);
    await task.crash();
    await server.advance(60);
    assert.equal(engine.events.size, 1);
    const [{ year, token }] = engine.events.values();
    assert.equal(year, 2026);
    const post = async (key: string) => {
      const body = JSON.stringify({ token, ...report });
      const signature = createHmac("sha256", key).update(body).digest("hex");
      const headers = { "x-signature": signature };
      const init = { method: "POST", headers, body };
      const response = await server.fetch("/written", init);
      await response.body?.cancel();
      return response.status;
    };
    assert.equal(await post("another key"), 401);
    assert.equal(await post(REPORT_KEY), 204);
    assert.match((await task.result()).text, expected);
    assert.equal(await post(REPORT_KEY), 404);
  });
}

Deno.test("write_report gives up after a week", async () => {
  await using engine = startEngine();
  await using server = await testServer({ ...options, env: engine.env });
  const task = await server.startTask("write_report", { year: 2026 });
  await server.advance(7 * 24 * 3600 + 1);
  assert.match((await task.result()).text, /within a week/);
});
