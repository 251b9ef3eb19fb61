import assert from "node:assert/strict";
import { canonicalJson } from "../src/core/json.ts";

Deno.test("canonicalJson() does not depend on the order of members", () => {
  assert.equal(
    canonicalJson({ b: [{ d: 1, c: 2 }], a: null }),
    '{"a":null,"b":[{"c":2,"d":1}]}',
  );
  assert.notEqual(canonicalJson([1, 2]), canonicalJson([2, 1]));
});
