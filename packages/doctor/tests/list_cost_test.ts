import assert from "node:assert/strict";
import {
  costWords,
  estimateTokens,
  printCount,
  tokensOfTool,
} from "../list_cost.ts";

const SMALL = { name: "greet", description: "Greets someone." };
const LARGE = {
  name: "create_issue",
  description: "Creates an issue. ".repeat(50),
  inputSchema: { type: "object", properties: { title: { type: "string" } } },
};

Deno.test("estimateTokens() counts words, digits and signs", () => {
  assert.equal(estimateTokens(""), 0);
  assert.equal(estimateTokens("two words"), 2);
  assert.equal(estimateTokens("123456"), 2);
  assert.equal(estimateTokens("internationalization"), 3);
});

Deno.test("costWords() names the sum and the dearest tool", () => {
  const [small, large] = [SMALL, LARGE].map(tokensOfTool);
  assert.equal(
    costWords([SMALL, LARGE]),
    `your list costs about ${printCount(small + large)} tokens, create_issue ` +
      `${printCount(large)} of them`,
  );
  assert.equal(costWords([]), "your list is empty");
});

Deno.test("printCount() groups digits", () => {
  assert.equal(
    [7, 1234, 1234567].map(printCount).join(" "),
    "7 1,234 1,234,567",
  );
});
