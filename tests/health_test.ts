import assert from "node:assert/strict";
import { testServer } from "../packages/testing/mod.ts";
import health from "../health.ts";

Deno.test("health tells how the server is", async () => {
  await using server = await testServer({ tools: [health] });
  const before = Date.now();
  const { structured } = await server.call(health);
  const { timestamp, uptimeSeconds, memory, ...others } = structured;
  assert(timestamp >= before && timestamp <= Date.now());
  assert(Number.isInteger(uptimeSeconds));
  assert(memory.rss > memory.heapUsed && memory.heapUsed > 0);
  assert.deepEqual(others, {
    status: "ok",
    runtime: "Deno",
    version: Deno.version.deno,
  });
});

Deno.test("health tells where it runs, where that is known", async () => {
  const env = { DENO_DEPLOYMENT_ID: "d1", DENO_REGION: "r1" };
  await using server = await testServer({ tools: [health], env });
  const { structured } = await server.call(health);
  assert.deepEqual([structured.deployment, structured.region], ["d1", "r1"]);
});
