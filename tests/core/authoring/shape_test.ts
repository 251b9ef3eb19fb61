import assert from "node:assert/strict";
import { testServer } from "../../../packages/testing/mod.ts";
import { prompt, tool, z } from "../../../src/mod.ts";

Deno.test("tool() takes the members of its schemas alone, and types them", async () => {
  const count = tool({
    name: "count",
    input: { word: z.string(), times: z.int().default(2) },
    output: { letters: z.int() },
    run: ({ word, times }) => ({ letters: word.length * times }),
  });
  await using server = await testServer({ tools: [count] });
  const { structured } = await server.call(count, { word: "tea" });
  assert.equal(structured.letters, 6);
  // @ts-expect-error: the input has no such member
  const { isError, text } = await server.call(count, { world: "tea" });
  assert.deepEqual([isError, /word/.test(text)], [true, true]);
});

Deno.test("tool() takes no members for no arguments", async () => {
  const now = tool({ name: "now", input: {}, run: () => "tea time" });
  await using server = await testServer({ tools: [now] });
  assert.equal((await server.call(now)).text, "tea time");
});

Deno.test("prompt() takes the members of its arguments alone", async () => {
  const explain = prompt({
    name: "explain",
    args: { topic: z.string() },
    get: ({ topic }) => `Explain ${topic}.`,
  });
  await using server = await testServer({ prompts: [explain] });
  const { text } = await server.prompt(explain, { topic: "tea" });
  assert.equal(text, "Explain tea.");
});
