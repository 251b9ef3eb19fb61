import assert from "node:assert/strict";
import {
  KeyRefusal,
  nameTold,
} from "../../../src/features/accounts/pasted_key.ts";

const KEY = "lin_0123456789abcdef0123456789abcdef";

Deno.test("nameTold() takes every name that a service may have, and drops what hides or reorders", () => {
  for (
    const [told, name] of [
      ["علی\u200cرضا", "علی\u200cرضا"],
      ["Ada 👩\u200d💻", "Ada 👩\u200d💻"],
      ["Ada\u200f", "Ada"],
      ["a\u00adb", "a b"],
      ["Ada\u2028This was done with", "Ada This was done with"],
      ["Ada\u0007 \ud800", "Ada"],
      [" \u200b\n", undefined],
      [42, undefined],
    ] as const
  ) assert.equal(nameTold(told, KEY), name);
});

Deno.test("nameTold() refuses a name that holds the key, also where it would be cut", () => {
  for (const end of ["", " of Ada, with all that it may do".repeat(3)]) {
    assert.throws(() => nameTold(KEY + end, KEY), KeyRefusal);
  }
  const long = "k".repeat(120);
  assert.throws(() => nameTold(`${long} of Ada`, long), KeyRefusal);
});
