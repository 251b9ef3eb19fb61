import assert from "node:assert/strict";
import time from "./time.ts";
import { testServer } from "../../packages/testing/mod.ts";

Deno.test("time:// knows its zones and no others", async () => {
  await using server = await testServer({ resources: [time] });
  assert.match((await server.read("time://Europe/Paris")).text, /\d{4}/);
  await assert.rejects(server.read("time://Europe/Atlantis"), { code: -32602 });
});

Deno.test("time:// completes a zone from any part of its name", async () => {
  await using server = await testServer({ resources: [time] });
  const zones = await server.complete(time, "zone", "paris");
  assert.deepEqual(zones, ["Europe/Paris"]);
});
