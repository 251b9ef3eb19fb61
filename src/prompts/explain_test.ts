import assert from "node:assert/strict";
import explain from "./explain.ts";
import { testServer } from "../../packages/testing/mod.ts";

Deno.test("explain fills in its arguments and completes its readers", async () => {
  await using server = await testServer({ prompts: [explain] });
  const { text } = await server.prompt(explain, { topic: "tides" });
  assert.match(text, /tides to a newcomer/);
  assert.deepEqual(await server.complete(explain, "reader", "exp"), [
    "an expert",
  ]);
});
