import assert from "node:assert/strict";
import {
  eachRevision,
  type TestAnswer,
  testServer,
} from "../../packages/testing/mod.ts";
import choose from "./choose.ts";

const input = { question: "Tea?", options: ["yes", "no"] };
const CASES: readonly (readonly [TestAnswer, RegExp])[] = [
  [{ action: "accept", content: { choice: "no" } }, /^They chose: no$/],
  ["decline", /rather not/],
  ["cancel", /without an answer/],
];

for (const [answer, expected] of CASES) {
  Deno.test(`choose asks, and tells of ${expected}`, () =>
    eachRevision(async (revision) => {
      await using server = await testServer({ tools: [choose], revision });
      const { text, questions: [question] } = await server.call(choose, input, {
        answers: [answer],
      });
      assert.match(text, expected);
      assert.equal(question.message, "Tea?");
      assert.match(JSON.stringify(question.params), /"enum":\["yes","no"\]/);
    }));
}
