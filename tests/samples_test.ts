/** What is shipped as a start. */
import assert from "node:assert/strict";
import { prompts } from "../src/prompts/mod.ts";
import { resources } from "../src/resources/mod.ts";
import { testServer } from "../src/testing.ts";
import { tools } from "../src/tools/mod.ts";

Deno.test("what is shipped starts, and says what it is", async () => {
  await using server = await testServer({ tools, resources, prompts });
  const listed = Object.values(await server.list()).flat();
  assert.equal(listed.length, [tools, resources, prompts].flat().length);
  for (const { name, title, description } of listed) {
    assert(title, name);
    assert(description, name);
  }
});
