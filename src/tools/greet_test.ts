import assert from "node:assert/strict";
import { testServer } from "../../packages/testing/mod.ts";
import greet from "./greet.ts";

Deno.test("greet greets by name", async () => {
  await using server = await testServer({ tools: [greet] });
  const { text } = await server.call(greet, { name: "Ada" });
  assert.equal(text, "Hello, Ada!");
});
