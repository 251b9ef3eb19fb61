import assert from "node:assert/strict";
import {
  BODY_DEPTH,
  BODY_VALUES,
  checkBodyLimits,
} from "../../src/protocol/body_limits.ts";
import { refuses } from "./refuses.ts";

function check(text: string): void {
  checkBodyLimits(new TextEncoder().encode(text));
}

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

/** An array whose values are counted as `count`: itself and its items. */
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
  // A quote behind two backslashes ends its string.
  refuses(() => check(`["\\\\",${nested(BODY_DEPTH + 1)}]`), -32600, 400);
});

Deno.test("checkBodyLimits() stops at a string without an end", () => {
  assert.doesNotThrow(() => check('"'.padEnd(1_000_000, "[")));
});
