import assert from "node:assert/strict";
import * as z from "zod";
import {
  checkArguments,
  paramHeadersOf,
  parseBy,
  toJsonSchema,
} from "../../../src/core/protocol/json_schema.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { prompt } from "../../../src/authoring/prompt.ts";
import { compileCatalogue } from "../../../src/core/catalogue/catalogue.ts";

Deno.test("toJsonSchema() speaks 2020-12 and keeps descriptions", () => {
  const schema = z.object({ n: z.int().describe("how many").default(1) });
  const { $schema, properties, required } = toJsonSchema(schema, "input");
  assert.equal($schema, "https://json-schema.org/draft/2020-12/schema");
  assert.equal((properties as JsonObject).n instanceof Object, true);
  assert.equal(
    ((properties as JsonObject).n as JsonObject).description,
    "how many",
  );
  assert.equal(required, undefined);
});

Deno.test("toJsonSchema() tells what goes in from what comes out", () => {
  const schema = z.object({ n: z.int().default(1) });
  assert.deepEqual(toJsonSchema(schema, "output").required, ["n"]);
});

Deno.test("toJsonSchema() refuses what JSON Schema cannot express", () => {
  for (const schema of [z.date(), z.bigint(), z.map(z.string(), z.string())]) {
    assert.throws(() => toJsonSchema(z.object({ a: schema }), "input"));
  }
});

function withHeader(header: unknown, type = "string"): JsonObject {
  return { type, "x-mcp-header": header };
}

function object(properties: JsonObject): JsonObject {
  return { type: "object", properties };
}

Deno.test("paramHeadersOf() finds annotations at any depth of properties", () => {
  const schema = object({
    region: withHeader("Region"),
    where: object({ shard: withHeader("Shard", "integer") }),
    dry: withHeader("dry-run", "boolean"),
    plain: { type: "string" },
  });
  assert.deepEqual(paramHeadersOf(schema), [
    { header: "mcp-param-region", path: ["region"] },
    { header: "mcp-param-shard", path: ["where", "shard"] },
    { header: "mcp-param-dry-run", path: ["dry"] },
  ]);
});

Deno.test("paramHeadersOf() finds what Zod was told by meta()", () => {
  const schema = z.object({
    region: z.string().meta({ "x-mcp-header": "Region" }),
    shard: z.int().meta({ "x-mcp-header": "Shard" }).optional(),
    zone: z.string().meta({ "x-mcp-header": "Zone" }).default("a"),
  });
  assert.deepEqual(
    paramHeadersOf(toJsonSchema(schema, "input")).map(({ path }) => path[0]),
    ["region", "shard", "zone"],
  );
});

Deno.test("paramHeadersOf() takes a property that has the annotation's name", () => {
  const schema = object({ "x-mcp-header": { type: "string" } });
  assert.deepEqual(paramHeadersOf(schema), []);
});

const BROKEN: Record<string, JsonObject> = {
  "an empty name": object({ a: withHeader("") }),
  "a name that is no token": object({ a: withHeader("my header") }),
  "a name with a line break": object({ a: withHeader("a\r\nb") }),
  "a name that is no string": object({ a: withHeader(1) }),
  "a number": object({ a: withHeader("A", "number") }),
  "an object": object({ a: withHeader("A", "object") }),
  "a list": object({ a: withHeader("A", "array") }),
  "two names that differ in case only": object({
    a: withHeader("Region"),
    b: withHeader("region"),
  }),
  "an annotation within items": object({
    a: { type: "array", items: withHeader("A") },
  }),
  "an annotation within anyOf": object({ a: { anyOf: [withHeader("A")] } }),
  "an annotation on the root": { ...object({}), ...withHeader("A", "object") },
  "an annotation within $defs": {
    ...object({}),
    $defs: { a: withHeader("A") },
  },
};

for (const [what, schema] of Object.entries(BROKEN)) {
  Deno.test(`paramHeadersOf() refuses ${what}`, () => {
    assert.throws(() => paramHeadersOf(schema), /x-mcp-header/);
  });
}

Deno.test("parseBy() parses at once where it can", () => {
  const parsed = parseBy(z.string(), "a");
  assert.ok(!(parsed instanceof Promise));
  assert.equal(parsed.data, "a");
});

Deno.test("parseBy() waits for schemas that must", async () => {
  const schema = z.string().refine((text) => Promise.resolve(text === "a"));
  const parsed = parseBy(schema, "b");
  assert.ok(parsed instanceof Promise);
  assert.equal((await parsed).success, false);
});

Deno.test("parseBy() throws at once what a schema throws", () => {
  const schema = z.string().transform(() => {
    throw new RangeError("not today");
  });
  assert.throws(() => parseBy(schema, "a"), RangeError);
});

Deno.test("paramHeadersOf() passes a property that is no schema object", () => {
  assert.deepEqual(paramHeadersOf({ properties: { any: true } }), []);
});

function check(arg: z.ZodType): void {
  const args = z.object({ arg });
  checkArguments(prompt({ name: "p", args, get: () => "" }));
}

Deno.test("checkArguments() finds arguments that no text can be", () => {
  for (
    const arg of [
      z.number(),
      z.number().optional(),
      z.boolean(),
      z.literal(5),
      z.array(z.string()),
      z.object({}),
      z.union([z.number(), z.boolean()]),
    ]
  ) assert.throws(() => check(arg), /: the argument arg must take a string/);
});

Deno.test("checkArguments() takes whatever reads a text", () => {
  for (
    const arg of [
      z.string(),
      z.uuid().optional(),
      z.enum(["a", "b"]),
      z.literal(["a", 1]),
      z.union([z.number(), z.uuid()]),
      z.coerce.number().min(1_000_000),
      z.coerce.boolean(),
      z.stringbool(),
      z.string().transform(Number),
      z.preprocess(Number, z.number()),
      z.preprocess((text) => JSON.parse(`${text}`), z.array(z.number())),
      z.any(),
    ]
  ) check(arg);
  checkArguments(prompt({ name: "p", get: () => "" }));
});

Deno.test("a prompt that can never be called does not start, and names its arguments", () => {
  const args = z.object({ a: z.number(), b: z.string(), c: z.boolean() });
  assert.throws(
    () =>
      compileCatalogue({
        prompts: [prompt({ name: "p", args, get: () => "" })],
      }, { serverInfo: { name: "s", version: "1" } }),
    /prompt p: the arguments a, c must take a string.*z\.coerce\.number\(\)/,
  );
});
