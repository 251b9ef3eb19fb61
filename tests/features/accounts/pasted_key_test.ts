import assert from "node:assert/strict";
import { personalKey } from "../../../src/authoring/personal_key.ts";
import {
  KeyRefusal,
  nameTold,
  parseKey,
} from "../../../src/features/accounts/pasted_key.ts";

const KEY = "lin_0123456789abcdef0123456789abcdef";

Deno.test("parseKey() takes off the word that is sent before the key, and no other", () => {
  for (
    const [scheme, text, key] of [
      [undefined, ` Bearer ${KEY}\n`, KEY],
      [undefined, `Authorization: bearer  ${KEY}`, KEY],
      [undefined, `Bearer`, "Bearer"],
      [undefined, `Bearer${KEY}`, `Bearer${KEY}`],
      ["Token", `Token ${KEY}`, KEY],
      ["", KEY, KEY],
      ["", `Bearer ${KEY}`, undefined],
      ["Token", `Bearer ${KEY}`, undefined],
    ] as const
  ) {
    const service = { ...personalKey("a", { api: "https://a.test" }), scheme };
    if (key !== undefined) assert.equal(parseKey(service, text), key);
    else assert.throws(() => parseKey(service, text), KeyRefusal);
  }
});

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
