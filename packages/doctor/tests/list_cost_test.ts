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
  assert.equal(estimateTokens("internationalization"), 2);
});

Deno.test("tokensOfTool() is near what GPT-4o counts", () => {
  const text = { type: "string" };
  const count = { type: "integer", minimum: -9007199254740991, maximum: 50 };
  const tools: [number, string, string, unknown][] = [
    [30, "whoami", "Says who is calling.", {
      type: "object",
      properties: {},
      additionalProperties: false,
    }],
    [76, "list_cups", "List cups. Lists the cups of a tea, newest first.", {
      type: "object",
      properties: {
        limit: { ...count, description: "By default 20." },
        sizes: { type: "array", items: { enum: ["small", "large"] } },
      },
    }],
    [
      121,
      "create_issue",
      "Creates an issue in a repository. Returns its number and address.",
      {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: {
          owner: text,
          title: {
            ...text,
            maxLength: 256,
            description: "A short title, without a full stop.",
          },
          body: text,
          labels: { type: "array", items: text, maxItems: 20 },
          dueBy: { ...text, format: "date" },
        },
        required: ["owner", "title"],
      },
    ],
  ];
  for (const [counted, name, description, inputSchema] of tools) {
    const error = tokensOfTool({ name, description, inputSchema }) / counted -
      1;
    assert(Math.abs(error) < 0.1, `${name}: ${error}`);
  }
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
