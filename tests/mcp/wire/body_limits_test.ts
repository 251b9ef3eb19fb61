import assert from "node:assert/strict";
import {
  BODY_BYTES,
  BODY_DEPTH,
  BODY_VALUES,
  checkBodyLimits,
  SLICE_BYTES,
} from "../../../src/mcp/wire/body_limits.ts";
import { refuses } from "../../kit/refuses.ts";

/** Counts to the end, and gives the number of pauses. */
function check(text: string): number {
  return [...checkBodyLimits(new TextEncoder().encode(text))].length;
}

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

/** Makes an array that counts as `count` values: itself and its items. */
function listOf(count: number, item: string): string {
  return `[${Array(count).fill(item).join()}]`;
}

Deno.test("checkBodyLimits() takes what is as deep as may be, and nothing deeper", () => {
  check(nested(BODY_DEPTH));
  refuses(() => check(nested(BODY_DEPTH + 1)), -32600, 400);
  refuses(() => check('{"a":'.repeat(BODY_DEPTH + 1)), -32600, 400);
  refuses(() => check("[".repeat(4_000_000)), -32600, 400);
});

Deno.test("checkBodyLimits() counts items, members and containers", () => {
  check(listOf(BODY_VALUES, "1"));
  refuses(() => check(listOf(BODY_VALUES + 1, "1")), -32600, 400);
  check(listOf(BODY_VALUES / 2, "[]"));
  refuses(() => check(listOf(BODY_VALUES / 2 + 1, "{}")), -32600, 400);
  const members = Array.from({ length: BODY_VALUES + 1 }, (_, n) => `"${n}":1`);
  refuses(() => check(`{${members.join()}}`), -32600, 400);
});

Deno.test("checkBodyLimits() counts nothing inside of strings", () => {
  const marks = "[{,".repeat(BODY_VALUES);
  for (const text of [marks, `${marks}\\"${marks}`, `${marks}\\\\`]) {
    check(`{"a":"${text}"}`);
  }
  // A quote after two backslashes ends its string.
  refuses(() => check(`["\\\\",${nested(BODY_DEPTH + 1)}]`), -32600, 400);
});

Deno.test("checkBodyLimits() stops at a string without an end", () => {
  assert.doesNotThrow(() => check('"'.padEnd(1_000_000, "[")));
});

Deno.test("checkBodyLimits() pauses after every slice, and what goes across one is one thing", () => {
  assert.equal(check(" ".repeat(SLICE_BYTES)), 0);
  assert.equal(check(" ".repeat(4 * SLICE_BYTES)), 3);
  const marks = "[".repeat(BODY_DEPTH + 1);
  // A string, an escape and a nesting that begin before the end of a slice.
  check(`"${marks}`.padStart(SLICE_BYTES + 10));
  check(`"\\"${marks}"`.padStart(SLICE_BYTES + BODY_DEPTH + 3));
  refuses(() => check(marks.padStart(SLICE_BYTES + 10)), -32600, 400);
});

Deno.test("checkBodyLimits() counts the shortest body that can be too deep, and every kind of end", () => {
  refuses(() => check("[".repeat(2 * BODY_DEPTH)), -32600, 400);
  check(listOf(BODY_DEPTH + 1, "{}"));
  check(listOf(BODY_DEPTH + 1, "[]"));
});

Deno.test("a body has at most 4 MiB, 10,000 values and a depth of 200", () => {
  const limits = [BODY_BYTES, BODY_VALUES, BODY_DEPTH];
  assert.deepEqual(limits, [4_194_304, 10_000, 200]);
});
