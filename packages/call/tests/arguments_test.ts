import assert from "node:assert/strict";
import { convert, parseArguments, parseArgumentsObject } from "../arguments.ts";
import { describeSchema } from "../schema.ts";
import { Exit } from "../failure.ts";

const SCHEMA = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    loud: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "integer" } },
    colour: { enum: ["red", "green"] },
    level: { enum: [1, 2] },
    either: { anyOf: [{ type: "string" }, { type: "integer" }] },
    maybe: { type: ["string", "null"] },
    titled: { oneOf: [{ const: "a", title: "First" }, { const: "b" }] },
    place: { $ref: "#/$defs/place" },
    free: {},
  },
  required: ["text"],
  $defs: {
    place: { type: "object", properties: {} },
    loop: { $ref: "#/$defs/loop" },
  },
};

for (
  const [word, name, value] of [
    ["count=3", "count", 3],
    ["count=-3", "count", -3],
    ["ratio=1.5e3", "ratio", 1500],
    ["loud=true", "loud", true],
    ["loud=false", "loud", false],
    ["tags=a,b", "tags", ["a", "b"]],
    ["tags=", "tags", []],
    ['tags=["a,b"]', "tags", ["a,b"]],
    ["sizes=1,2", "sizes", [1, 2]],
    ["colour=red", "colour", "red"],
    ["level=2", "level", 2],
    ["either=7", "either", 7],
    ["either=seven", "either", "seven"],
    ["maybe=null", "maybe", null],
    ["titled=First", "titled", "a"],
    ['place={"floor":1}', "place", { floor: 1 }],
    ["free=12", "free", "12"],
    ["free:=12", "free", 12],
    ["text=a=b:=c", "text", "a=b:=c"],
    ["count:=[1]", "count", [1]],
  ] as [string, string, unknown][]
) {
  Deno.test(`parseArguments() converts ${word}`, () => {
    const args = parseArguments([word], { ...SCHEMA, required: [] });
    assert.deepEqual(args, { [name]: value });
  });
}

for (
  const [word, words] of [
    ["count=1.5", /^count: got "1.5", wants integer$/],
    ["count=", /^count: got "", wants integer$/],
    ["ratio=0x10", /^ratio: got "0x10", wants number$/],
    ["ratio=1e999", /wants number/],
    ["loud=yes", /^loud: got "yes", wants boolean$/],
    ["colour=blue", /^colour: got "blue", wants one of red, green$/],
    ["sizes=1,x", /^sizes: got "1,x", wants list of integer$/],
    ["place={", /^place: got "\{", wants JSON$/],
    ["free:=x", /^free: got "x", wants JSON$/],
    ["tekst=a", /^No argument "tekst"\. Did you mean text\?$/],
    ["zzzzzzzz=a", /^No argument "zzzzzzzz"\. This tool takes: text, count/],
    ["text", /^Got "text", wants name=value or name:=json$/],
    ["=a", /^Got "=a", wants name=value/],
  ] as [string, RegExp][]
) {
  Deno.test(`parseArguments() refuses ${word}`, () => {
    assert.throws(
      () => parseArguments([word], SCHEMA),
      { message: words, exitCode: Exit.usage },
    );
  });
}

Deno.test("parseArguments() refuses a value given twice, and joins lists", () => {
  assert.throws(
    () => parseArguments(["text=a", "text=b"], SCHEMA),
    /text is given twice/,
  );
  assert.deepEqual(parseArguments(["text=a", "tags=a", "tags=b"], SCHEMA), {
    text: "a",
    tags: ["a", "b"],
  });
});

Deno.test("parseArguments() names what is missing, with its type", () => {
  assert.throws(() => parseArguments([], SCHEMA), /^.*Missing: text=string$/);
  assert.deepEqual(parseArguments([], SCHEMA, { text: 1 }), { text: 1 });
});

Deno.test("parseArguments() takes any name where the schema does", () => {
  const open = { type: "object", additionalProperties: true };
  assert.deepEqual(parseArguments(["any=1"], open), { any: "1" });
});

Deno.test("parseArguments() ends a reference that leads to itself, or nowhere", () => {
  for (const $ref of ["#/$defs/loop", "#/$defs/none", "https://a.example/"]) {
    const schema = { ...SCHEMA, required: [], properties: { a: { $ref } } };
    assert.deepEqual(parseArguments(["a=1"], schema), { a: "1" });
  }
});

Deno.test("parseArguments() makes a name of an object's own parts an argument", () => {
  const schema = { additionalProperties: true };
  for (const name of ["toString", "__proto__"]) {
    const args = parseArguments([`${name}=1`], schema);
    assert.deepEqual(Object.entries(args), [[name, "1"]]);
  }
  assert.throws(
    () => parseArguments(["constructor=1"], SCHEMA),
    /No argument "constructor"/,
  );
});

Deno.test("parseArgumentsObject() takes one JSON object", () => {
  assert.deepEqual(parseArgumentsObject('{"a":1}'), { a: 1 });
  for (const text of ["[1]", "null", "{"]) {
    assert.throws(() => parseArgumentsObject(text), /The arguments: got/);
  }
});

Deno.test("describeSchema() says what a schema wants", () => {
  assert.equal(describeSchema({ type: ["string", "null"] }), "null or string");
  assert.equal(describeSchema({ const: "x" }), "x");
  assert.equal(describeSchema({ type: "array" }), "list of anything");
  assert.equal(convert("a", "x", { const: "x" }), "x");
});

Deno.test("convert() and describe() end for a schema that leads back to itself", () => {
  const $ref = "#/$defs/value";
  const root = {
    properties: { value: { $ref } },
    $defs: {
      value: {
        anyOf: [
          { type: "number" },
          { $ref },
          { anyOf: [{ $ref }, { $ref }] },
          { type: ["null", "boolean"], anyOf: [{ $ref }] },
          { type: "array", items: { $ref } },
        ],
      },
    },
  };
  const { value } = root.properties;
  assert.equal(describeSchema(value, root), "number or list of number or list");
  assert.throws(() => convert("value", "a", value, root), /value: got "a"/);
  assert.deepEqual(convert("value", "1,[2]", value, root), [1, [2]]);
});
