import assert from "node:assert/strict";
import {
  contentOfForm,
  FormEntryError,
  parseFormFields,
} from "../../../src/core/protocol/form_fields.ts";
import { toJsonSchema } from "../../../src/core/protocol/json_schema.ts";
import { z } from "zod";

/** The content of a form with these properties for these entries. */
function content(
  properties: Record<string, unknown>,
  entries: Record<string, string>,
  required: readonly string[] = Object.keys(properties),
) {
  const fields = parseFormFields({ type: "object", properties, required })!;
  const names = fields.map(({ name }) => name);
  // Each by the name of its field, and a box by its number after that.
  const named = Object.entries(entries).map(([name, entry]) => {
    const [field, box] = name.split(".");
    const at = `field.${names.indexOf(field)}`;
    return [box === undefined ? at : `${at}.${box}`, entry] as const;
  });
  const values = new Map(named);
  return contentOfForm(fields, (name) => values.get(name));
}

Deno.test("contentOfForm() gives each field the type that its schema has", () => {
  const properties = {
    name: { type: "string" },
    age: { type: "integer" },
    weight: { type: "number" },
    sure: { type: "boolean" },
    wrong: { type: "boolean" },
    color: { type: "string", enum: ["red", "blue"], enumNames: ["R", "B"] },
    size: { type: "string", oneOf: [{ const: "s", title: "Small" }] },
    tags: {
      type: "array",
      items: { anyOf: [{ const: "a", title: "A" }, { const: "b" }] },
    },
    none: { type: "array", items: { type: "string", enum: ["x"] } },
  };
  assert.deepEqual(
    content(properties, {
      name: "Ada",
      age: "36",
      weight: "1.5",
      sure: "on",
      color: "1",
      size: "0",
      "tags.1": "on",
    }),
    {
      name: "Ada",
      age: 36,
      weight: 1.5,
      sure: true,
      wrong: false,
      color: "blue",
      size: "s",
      tags: ["b"],
      none: [],
    },
  );
});

Deno.test("contentOfForm() leaves out what may stay empty", () => {
  const properties = {
    name: { type: "string" },
    age: { type: "number" },
    tags: { type: "array", items: { enum: ["a"] } },
  };
  assert.deepEqual(content(properties, {}, []), {});
});

/** Entries that fit, and entries that do not, for each kind of field. */
const BOUNDS = {
  "a text of 2 to 3 characters": [
    { type: "string", minLength: 2, maxLength: 3 },
    ["ab", "abc"],
    [undefined, "a", "abcd"],
  ],
  "a number of 1 to 2": [
    { type: "number", minimum: 1, maximum: 2 },
    ["1", "1.5", "2"],
    [undefined, "many", "NaN", "Infinity", "0.9", "2.1"],
  ],
  "a whole number": [{ type: "integer" }, ["-7", "0"], ["1.5"]],
  "one of two": [
    { type: "string", enum: ["a", "b"] },
    ["0", "1"],
    [undefined, "2", "-1", "a", "length", "0.5"],
  ],
  "an email address": [
    { type: "string", format: "email" },
    ["ada@example.com"],
    ["ada", "@example.com", "a b@example.com"],
  ],
  "an address": [
    { type: "string", format: "uri" },
    ["https://example.com/", "mailto:ada@example.com"],
    ["example.com", "//example.com"],
  ],
  "a day": [
    { type: "string", format: "date" },
    ["2026-11-26", "2028-02-29"],
    ["2026-02-29", "26.11.2026", "2026-13-01"],
  ],
  "a moment": [
    { type: "string", format: "date-time" },
    ["2026-11-26T14:00:00Z", "2026-11-26T14:00+01:00"],
    [
      "2026-11-26",
      "2026-11-26T14:00",
      "2026-02-30T14:00Z",
      "2026-11-26T25:00Z",
    ],
  ],
  "a text of a format that no one knows": [
    { type: "string", format: "constructor" },
    ["any"],
    [undefined],
  ],
} as const;

for (const [kind, [property, fits, others]] of Object.entries(BOUNDS)) {
  Deno.test(`contentOfForm() takes ${kind}, and nothing else`, () => {
    const take = (entry?: string) =>
      content({ n: property }, entry === undefined ? {} : { n: entry });
    for (const entry of fits) assert("n" in take(entry), entry);
    for (const entry of others) {
      assert.throws(() => take(entry), FormEntryError, entry);
    }
  });
}

Deno.test("contentOfForm() takes as many choices as the schema", () => {
  const many = {
    type: "array",
    items: { enum: ["a", "b", "c"] },
    minItems: 1,
    maxItems: 2,
  };
  const take = (...boxes: number[]) =>
    content(
      { many },
      Object.fromEntries(boxes.map((box) => [`many.${box}`, "on"])),
    ).many;
  assert.deepEqual(take(0), ["a"]);
  assert.deepEqual(take(0, 2), ["a", "c"]);
  assert.throws(() => take(), FormEntryError);
  assert.throws(() => take(0, 1, 2), FormEntryError);
  assert.deepEqual(content({ many }, {}, []), {});
});

Deno.test("contentOfForm() knows the line breaks of browsers", () => {
  const properties = { text: { type: "string", maxLength: 3 } };
  assert.deepEqual(content(properties, { text: "a\r\nb" }), { text: "a\nb" });
});

Deno.test("parseFormFields() knows the forms of Zod, and tells what it does not know", () => {
  const schema = z.object({
    name: z.string().max(5),
    color: z.enum(["red", "blue"]).optional(),
    sure: z.boolean().default(true),
    many: z.array(z.enum(["a", "b"])),
    n: z.int(),
  });
  const fields = parseFormFields(toJsonSchema(schema, "input"));
  assert.deepEqual(fields?.map(({ name, kind }) => [name, kind]), [
    ["name", "text"],
    ["color", "one"],
    ["sure", "box"],
    ["many", "some"],
    ["n", "number"],
  ]);
  for (
    const property of [
      { type: "object" },
      { type: "array", items: { type: "string" } },
      { type: ["string", "null"] },
      true,
    ]
  ) assert.equal(parseFormFields({ properties: { property } }), undefined);
});
