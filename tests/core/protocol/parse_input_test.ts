import assert from "node:assert/strict";
import * as z from "zod";
import { parseInput } from "../../../src/core/catalogue/compiled_tool.ts";
import { parseBy } from "../../../src/core/protocol/json_schema.ts";
import { inputErrorText } from "../../../src/core/protocol/results.ts";

const MANY = 9900;

/** A schema that accepts only "right", and counts its checks. */
class Picky {
  asked = 0;
  readonly schema = z.union([this.#option(), this.#option()]);

  #option() {
    return z.custom<string>((value) => {
      this.asked++;
      return value === "right";
    });
  }
}

function many(item: unknown, first: readonly unknown[] = []): unknown[] {
  return Array.from({ length: MANY }, (_, n) => n in first ? first[n] : item);
}

/** Lists the lines about a value that is refused. */
function linesOf(schema: z.ZodType, value: unknown): string[] {
  const parsed = parseInput(schema, value);
  assert(!(parsed instanceof Promise) && !parsed.success);
  return inputErrorText(parsed.error, parsed.hasMore).split("\n").slice(1);
}

const SHAPES: Record<
  string,
  [schema: (item: z.ZodType) => z.ZodType, value: unknown, path: string]
> = {
  "an array": [(item) => z.array(item), many("wrong"), ""],
  "a record": [(item) => z.record(z.string(), item), { ...many("wrong") }, ""],
  "what is read later and made into something else": [
    (item) => z.lazy(() => z.array(item)).transform((list) => list.length),
    many("wrong"),
    "",
  ],
  "what may be left out": [
    (item) =>
      z.object({
        name: z.string(),
        list: z.array(item).optional().nullable().default([]).readonly(),
      }),
    { name: "ada", list: many("wrong") },
    "list.",
  ],
};

for (const [what, [schemaWith, value, path]] of Object.entries(SHAPES)) {
  Deno.test(`parseInput() names the first faults of ${what}, and looks for few more`, () => {
    const picky = new Picky();
    assert.deepEqual(linesOf(schemaWith(picky.schema), value), [
      ...Array.from({ length: 10 }, (_, n) => `- ${path}${n}: Invalid input`),
      "- and more",
    ]);
    assert(picky.asked < 2000, `${picky.asked} times`);
  });
}

Deno.test("parseInput() names the faults that Zod names, in its order and words", () => {
  const schema = z.object({
    ids: z.array(z.int("An ID has digits")),
    tags: z.array(z.strictObject({ name: z.string().min(2) })),
  });
  const tags = many({ name: "" }, [{ name: "ok" }, { name: 1 }, "text"]);
  for (const ids of [[1, 2], [1, "two", 3]]) {
    const value = { ids, tags };
    const { error } = schema.safeParse(value);
    assert.equal(
      inputErrorText(error!).split("\n").slice(1, 11).join("\n"),
      linesOf(schema, value).slice(0, 10).join("\n"),
    );
  }
});

Deno.test("parseInput() counts the faults of a value that has few", () => {
  assert.deepEqual(linesOf(z.array(z.int()), ["a", 1, "b"]), [
    "- 0: Invalid input: expected number, received string",
    "- 2: Invalid input: expected number, received string",
  ]);
  const twelve = Array(12).fill("a");
  assert.equal(linesOf(z.array(z.int()), twelve).at(-1), "- and 2 more");
});

Deno.test("parseInput() takes what Zod takes, however much is wrong for another option", async () => {
  const inner = z.union([z.int(), z.boolean()]);
  const list = z.union([z.array(inner), z.array(z.string())]);
  const texts = many("text");
  const taken: [schema: z.ZodType, value: unknown][] = [
    [z.object({ list }), { list: texts }],
    [
      z.object({ list: list.refine(() => Promise.resolve(true)) }),
      { list: texts },
    ],
    [
      z.object({ list, left: inner.optional(), none: inner.nullable() }),
      { list: texts, none: null },
    ],
    [
      z.object({ list, loose: z.looseRecord(z.string().max(1), inner) }),
      { list: texts, loose: { text: "text" } },
    ],
    [
      z.object({ list, record: z.record(z.string(), inner) }),
      { list: texts, record: JSON.parse('{"__proto__":"text"}') },
    ],
  ];
  for (const [schema, value] of taken) {
    assert((await parseInput(schema, value)).success);
  }
});

Deno.test("parseInput() refuses what it cannot take apart too", () => {
  const schema = z.tuple([z.string()], new Picky().schema);
  const lines = linesOf(schema, many("wrong"));
  assert.deepEqual([lines[0], lines[9], lines[10], lines.length], [
    "- 1: Invalid input",
    "- 10: Invalid input",
    "- and more",
    11,
  ]);
});

Deno.test("parseInput() takes no inherited function for a member that is absent", async () => {
  const member = {
    constructor: z.string().optional(),
    valueOf: z.int().optional(),
  };
  const schema = z.object({
    body: z.object(member),
    list: z.array(z.union([z.strictObject(member), z.string()])).optional(),
    toString: z.literal("a").default("a"),
  });
  const pairs: [unknown, unknown][] = [
    [{ body: {} }, { body: {}, toString: "a" }],
    [
      { body: { constructor: "b" }, list: [{ valueOf: 1 }], toString: "a" },
      { body: { constructor: "b" }, list: [{ valueOf: 1 }], toString: "a" },
    ],
  ];
  for (const [given, found] of pairs) {
    for (const parse of [parseInput, parseBy]) {
      const parsed = await parse(schema, given);
      assert.deepEqual<unknown>(parsed.data, found);
    }
    const later = await parseBy(
      schema.refine(() => Promise.resolve(true)),
      given,
    );
    assert.deepEqual<unknown>(later.data, found);
  }
  assert.deepEqual(linesOf(schema, { body: { constructor: 1 } }).length, 1);
});
