import assert from "node:assert/strict";
import { isSid, sidOf } from "../../../src/auth/doors/sid.ts";

Deno.test("isSid() takes up to 128 unreserved characters, and nothing around them", () => {
  for (const sid of ["a", "A-z0.9_~", "x".repeat(128)]) assert(isSid(sid));
  for (const sid of ["", "x".repeat(129), " a", "a ", "a/b", "é", "a\n"]) {
    assert(!isSid(sid), sid);
  }
});

Deno.test("sidOf() reads what correlates a request", () => {
  const of = (query: string) => sidOf(new Request(`http://x/mcp${query}`));
  assert.equal(of("?sid=one"), "one");
  for (const query of ["", "?sid=", "?sid=a%20b", "?other=1"]) {
    assert.equal(of(query), undefined);
  }
});
