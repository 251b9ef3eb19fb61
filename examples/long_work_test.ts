import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { countWords } from "./long_work.ts";

const input = { pages: ["one two", "three"] };

Deno.test("count_words tells how far it is", async () => {
  await using server = await testServer({ tools: [countWords] });
  const { structured, progress } = await server.call(countWords, input);
  assert.deepEqual(structured, { words: 3 });
  assert.deepEqual(progress.map(({ progress }) => progress), [0, 1, 2]);
});

Deno.test("count_words runs as a task", async () => {
  await using server = await testServer({ tools: [countWords] });
  const task = await server.startTask(countWords, input);
  const { structured } = await task.result();
  assert.deepEqual(structured, { words: 3 });
});
