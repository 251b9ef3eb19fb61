import assert from "node:assert/strict";
import * as z from "zod";
import {
  errorResult,
  inputErrorText,
  resultOf,
  structuredResult,
} from "../../../src/core/protocol/results.ts";

const TEXT = { type: "text" as const, text: "a" };

Deno.test("resultOf() wraps text, a block and a list, and keeps a whole result", () => {
  assert.deepEqual(resultOf("a"), { content: [TEXT] });
  assert.deepEqual(resultOf(TEXT), { content: [TEXT] });
  assert.deepEqual(resultOf([TEXT, TEXT]), { content: [TEXT, TEXT] });
  const whole = { content: [TEXT], isError: true, _meta: { a: 1 } };
  assert.deepEqual(resultOf(whole), whole);
});

Deno.test("structuredResult() says it twice: as values and as JSON text", () => {
  assert.deepEqual(structuredResult({ n: 1 }, true), {
    content: [{ type: "text", text: '{"n":1}' }],
    structuredContent: { n: 1 },
  });
});

Deno.test("structuredResult() keeps from a client what it would refuse", () => {
  assert.deepEqual(structuredResult([1], false), {
    content: [{ type: "text", text: "[1]" }],
  });
});

Deno.test("errorResult() is marked", () => {
  assert.deepEqual(errorResult("a"), { content: [TEXT], isError: true });
});

Deno.test("inputErrorText() tells of ten issues, and how many there are", () => {
  const schema = z.object({ list: z.array(z.string()) });
  const { error } = schema.safeParse({ list: Array(5000).fill(1) });
  const lines = inputErrorText(error!).split("\n");
  assert.equal(lines.length, 12);
  assert.equal(lines.at(-1), "- and 4990 more");
});

Deno.test("inputErrorText() bounds each line", () => {
  const names = Array.from({ length: 5000 }, (_, n) => [`name${n}`, n]);
  const { error } = z.strictObject({}).safeParse(Object.fromEntries(names));
  assert.ok(inputErrorText(error!).length < 400);
});

Deno.test("inputErrorText() tells what each alternative of a union has against a value", () => {
  const place = z.object({ at: z.object({ id: z.number() }) });
  const who = z.union([z.string(), z.union([place, z.number(), z.string()])]);
  const [, ...lines] = inputErrorText(
    z.object({ who }).safeParse({ who: { at: { id: "x" } } }).error!,
  ).split("\n");
  assert.deepEqual(lines, [
    "- who: expected string, received object; or " +
    "at.id: expected number, received string; or " +
    "expected number, received object",
  ]);
  const own = z.union([z.string(), z.number()], { error: "Say who." });
  const { error } = own.safeParse(true);
  assert.match(inputErrorText(error!), /^- arguments: Say who\.$/m);
});

Deno.test("inputErrorText() tells a model which arguments to fix, and how", () => {
  const schema = z.strictObject({
    list: z.array(z.int().max(5)),
    name: z.string(),
  });
  const { error } = schema.safeParse({ list: [1, 9], extra: true });
  const text = inputErrorText(error!);
  assert.match(text, /^The arguments do not match the input schema:\n/);
  assert.match(text, /^- list\.1: .*5/m);
  assert.match(text, /^- name: /m);
  assert.match(text, /^- arguments: .*extra/m);
});

for (
  const answer of [{ a: 1 }, ["a"], new Uint8Array(1), 1, undefined, null, {
    content: ["a"],
  }]
) {
  Deno.test(`resultOf() refuses ${JSON.stringify(answer)}, and says what to declare`, () => {
    assert.throws(() => resultOf(answer), /declare `output`/);
  });
}

for (const type of ["text", "image", "audio", "resource", "resource_link"]) {
  Deno.test(`resultOf() takes a block of ${type} for content`, () => {
    const block = { type } as never;
    assert.deepEqual(resultOf(block), { content: [block] });
  });
}
