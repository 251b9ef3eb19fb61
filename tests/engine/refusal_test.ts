import assert from "node:assert/strict";
import { internalRefusal } from "../../src/engine/refusal.ts";

Deno.test("internalRefusal() answers a request, or fails where there is none to answer", () => {
  for (
    const [id, status] of [[0, 200], ["a", 200], [undefined, 500]] as const
  ) {
    const refusal = internalRefusal("r", id);
    assert.equal(refusal.status, status);
    assert.match(refusal.body, /Internal error \(reference r\)/);
  }
});
