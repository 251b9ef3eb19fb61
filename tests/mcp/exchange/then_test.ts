import assert from "node:assert/strict";
import { then } from "../../../src/mcp/exchange/then.ts";

const double = (value: number) => value * 2;

Deno.test("then() goes on at once with a value that is here", () => {
  assert.equal(then(2, double), 4);
  assert.equal(then(undefined, () => 1), 1);
  assert.equal(then(null, () => 1), 1);
});

Deno.test("then() waits for a promise", async () => {
  assert.equal(await then(Promise.resolve(2), double), 4);
  const failed = Promise.reject(new TypeError("no"));
  await assert.rejects(async () => await then(failed, double), TypeError);
});

Deno.test("then() waits for whatever has a then(), as await does", async () => {
  const query: PromiseLike<number> = {
    then: (resolve, reject) => Promise.resolve(2).then(resolve, reject),
  };
  const doubled = then(query, double);
  assert.ok(doubled instanceof Promise);
  assert.equal(await doubled, 4);
});
