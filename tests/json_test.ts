import assert from "node:assert/strict";
import { canonicalJson, valueAt } from "../src/core/json.ts";

Deno.test("canonicalJson() does not depend on the order of members", () => {
  assert.equal(
    canonicalJson({ b: [{ d: 1, c: 2 }], a: null }),
    '{"a":null,"b":[{"c":2,"d":1}]}',
  );
  assert.notEqual(canonicalJson([1, 2]), canonicalJson([2, 1]));
});

Deno.test("valueAt() looks into objects, and at their own members only", () => {
  assert.equal(valueAt({ a: { b: 1 } }, ["a", "b"]), 1);
  assert.equal(valueAt({ a: "text" }, ["a", "length"]), undefined);
  assert.equal(valueAt({ a: [1] }, ["a", "0"]), undefined);
  assert.equal(valueAt({}, ["toString"]), undefined);
});
