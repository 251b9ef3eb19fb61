/** The parts of this service that do not depend on a clone's own tools. */
import assert from "node:assert/strict";
import { testServer } from "../packages/testing/mod.ts";
import server from "../server.ts";

Deno.test("what server.ts offers starts, health among it", async () => {
  await using started = await testServer(server);
  const { tools, resources, prompts } = server;
  const { cost, ...lists } = await started.list();
  assert.match(cost, /tokens/);
  const listed = Object.values(lists).flat();
  assert.equal(listed.length, [tools, resources, prompts].flat().length);
  assert(listed.some(({ name }) => name === "health"));
});
