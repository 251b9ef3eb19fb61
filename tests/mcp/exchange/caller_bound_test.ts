import assert from "node:assert/strict";
import { CallerBound } from "../../../src/mcp/exchange/caller_bound.ts";
import { type CountedAs, MANY } from "../../../src/mcp/exchange/counted_as.ts";
import { LimitError } from "../../../src/errors.ts";

const ADA: CountedAs = { name: "ada", isMany: false };
const BOB: CountedAs = { name: "bob", isMany: false };
const OFFICE: CountedAs = { name: "office", isMany: true };

Deno.test("CallerBound refuses one more than a caller may have, and no one else", () => {
  const bound = new CallerBound(2, "calls at a time");
  bound.take(ADA);
  bound.take(ADA);
  assert.throws(
    () => bound.take(ADA),
    (error) =>
      error instanceof LimitError && error.status === 429 &&
      error.headers["retry-after"] === "5" &&
      error.message === "Too many calls at a time: try again in 5 seconds",
  );
  bound.take(BOB);
  bound.release(ADA);
  bound.take(ADA);
  assert.throws(() => bound.take(ADA), LimitError);
});

Deno.test("CallerBound counts what was checked before", () => {
  const bound = new CallerBound(1, "calls at a time");
  bound.check(ADA);
  bound.count(ADA);
  assert.throws(() => bound.check(ADA), LimitError);
  bound.check(BOB);
  bound.release(ADA);
  bound.check(ADA);
});

Deno.test("CallerBound gives more to a caller that may be many people, and bounds them too", () => {
  const bound = new CallerBound(1, "calls at a time");
  for (let i = 0; i < MANY; i++) bound.take(OFFICE);
  assert.throws(() => bound.take(OFFICE), LimitError);
  const strict = new CallerBound(1, "calls at a time", 1);
  strict.take(OFFICE);
  assert.throws(() => strict.take(OFFICE), LimitError);
});

Deno.test("CallerBound has no bound for those whom nothing tells apart", () => {
  const bound = new CallerBound(1, "calls at a time");
  for (let i = 0; i < 3; i++) bound.take(undefined);
  bound.release(undefined);
});
