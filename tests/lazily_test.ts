import assert from "node:assert/strict";
import { lazily } from "../src/lazily.ts";

Deno.test("lazily() makes a value for the first that asks, and once", () => {
  let made = 0;
  const value = lazily(() => {
    made++;
    return undefined;
  });
  assert.equal(made, 0);
  value();
  value();
  assert.equal(made, 1);
});

Deno.test("lazily() tries again after a failure", () => {
  let tries = 0;
  const value = lazily(() => {
    if (tries++ === 0) throw new Error("not yet");
    return "made";
  });
  assert.throws(value, /not yet/);
  assert.equal(value(), "made");
});
