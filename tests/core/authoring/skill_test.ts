import assert from "node:assert/strict";
import { parseFrontmatter } from "../../../src/authoring/skill.ts";

Deno.test("parseFrontmatter() reads what a client's YAML parser reads", () => {
  const text = `---
name: refunds
description: >-
  Decides about refunds.
  Use it: when money goes back.
license: "MIT"
allowed-tools: search_orders refund
metadata: # for people
  version: "1.0"
  tags: [money, 'law']
---
# Refunds
---
`;
  const expected = {
    name: "refunds",
    description: "Decides about refunds. Use it: when money goes back.",
    license: "MIT",
    "allowed-tools": "search_orders refund",
    metadata: { version: "1.0", tags: ["money", "law"] },
  };
  assert.deepEqual(parseFrontmatter(text), expected);
  assert.deepEqual(parseFrontmatter(text.replaceAll("\n", "\r\n")), expected);
});

const REFUSED: [what: string, text: string, message: RegExp][] = [
  ["a path", "./skills/refunds/SKILL.md", /content of the file/],
  ["no front matter", "# Refunds\n---\nname: a\n---\n", /begins with a line/],
  ["no end of it", "---\nname: a\n", /begins with a line/],
  ["an empty one", "---\n---\n", /begins with a line/],
  ["a list", "---\n- name\n---\n", /lines such as name: …/],
  [
    "what is not YAML, with its line",
    "---\nname: a\ndescription: use it: now\n---\n",
    /line 3: bad indentation/,
  ],
  ["a key twice", "---\nname: a\nname: b\n---\n", /line 3: duplicated/],
  [
    "what parsers read differently",
    "---\nname: no\nmetadata:\n  since: 2026-01-01\ntitle: yesterday\n---\n",
    /clients read name, metadata differently/,
  ],
];

for (const [what, text, message] of REFUSED) {
  Deno.test(`parseFrontmatter() refuses ${what}`, () => {
    assert.throws(() => parseFrontmatter(text), { message });
  });
}
