import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { testServer } from "../mod.ts";

const HOUR_MILLISECONDS = 3_600_000;
const morning = new Date(Date.now() + HOUR_MILLISECONDS);

const nap = tool({
  name: "nap",
  task: { durable: true },
  async run(_input, { sleep }) {
    await sleep("nap", morning);
    return "Awake.";
  },
});

Deno.test("a clock that is moved on ends a sleep", async () => {
  let ahead = 0;
  const clock = () => Date.now() + ahead;
  await using server = await testServer({ tools: [nap], clock });
  const task = await server.startTask(nap);
  assert.equal((await task.status()).status, "working");
  ahead = 2 * HOUR_MILLISECONDS;
  assert.equal((await task.result()).text, "Awake.");
});
