import assert from "node:assert/strict";

Deno.test("src/testing.ts exports these values and nothing else", async () => {
  const values = Object.keys(await import("../../src/testing.ts"));
  assert.deepEqual(values.toSorted(), [
    "RefusedError",
    "eachRevision",
    "serveTest",
    "testServer",
  ]);
});
