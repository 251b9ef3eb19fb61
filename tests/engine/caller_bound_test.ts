import assert from "node:assert/strict";
import { ANONYMOUS, type Caller } from "../../src/caller.ts";
import { CallerBound } from "../../src/engine/caller_bound.ts";
import { HttpError } from "../../src/errors.ts";

const ADA: Caller = { subject: "ada", binding: "ada", scopes: [] };
const BOB: Caller = { subject: "bob", binding: "bob", scopes: [] };

Deno.test("CallerBound refuses one more than a caller may have, and no one else", () => {
  const bound = new CallerBound(2, "calls");
  bound.take(ADA);
  bound.take(ADA);
  assert.throws(
    () => bound.take(ADA),
    (error) =>
      error instanceof HttpError && error.status === 429 &&
      "retry-after" in error.headers,
  );
  bound.take(BOB);
  bound.release(ADA);
  bound.take(ADA);
});

Deno.test("CallerBound counts what was checked before", () => {
  const bound = new CallerBound(1, "calls");
  bound.check(ADA);
  bound.count(ADA);
  assert.throws(() => bound.check(ADA), HttpError);
  bound.check(BOB);
  bound.release(ADA);
  bound.check(ADA);
});

Deno.test("CallerBound has no bound for a caller that many people share", () => {
  const bound = new CallerBound(1, "calls");
  for (let i = 0; i < 3; i++) bound.take(ANONYMOUS);
});
