import assert from "node:assert/strict";
import { applyMutant, mutantsOf } from "../mutants.ts";

/** Applies every mutant of a source. */
function brokenOf(source: string): string[] {
  return mutantsOf("src/x.ts", source).map((one) => applyMutant(source, one));
}

Deno.test("mutantsOf() drops a refusal and makes it rash", () => {
  assert.deepEqual(brokenOf("if (a) throw b;"), [
    "if (false) throw b;",
    "if (true) throw b;",
  ]);
});

Deno.test("mutantsOf() moves a comparison by one", () => {
  assert.deepEqual(brokenOf("x = a <= b;"), ["x = a < b;"]);
  assert.deepEqual(brokenOf("x = a !== b;"), ["x = a === b;"]);
});

Deno.test("mutantsOf() leaves out each half of a condition", () => {
  assert.deepEqual(brokenOf("x = a && b;"), ["x = (b);", "x = (a);"]);
});

Deno.test("mutantsOf() drops a call, a throw and a check in a chain", () => {
  assert.deepEqual(brokenOf("check(a);"), [";"]);
  assert.deepEqual(brokenOf("switch (a) { default: throw b; }"), [
    "switch (a) { default: ; }",
  ]);
  assert.deepEqual(brokenOf("x = t.check(e).set(k, v);"), ["x = t.set(k, v);"]);
});

Deno.test("mutantsOf() takes members off a list and ends off a pattern", () => {
  assert.deepEqual(brokenOf('x = ["a", "b"];'), ['x = ["b"];', 'x = ["a"];']);
  assert.deepEqual(brokenOf("x = /^a$/;"), ["x = /a$/;", "x = /^a/;"]);
  assert.deepEqual(brokenOf("x = /a\\$/;"), []);
});

Deno.test("mutantsOf() raises limits", () => {
  assert.deepEqual(brokenOf("const MOST = 7;"), ["const MOST = 7 * 10;"]);
  assert.deepEqual(brokenOf("x = y.max(7);"), ["x = y;", "x = y.max(7 * 10);"]);
  assert.deepEqual(brokenOf("const LEAST = 0;"), []);
});

Deno.test("mutantsOf() leaves words, types and imports alone", () => {
  assert.deepEqual(brokenOf('import a from "a";'), []);
  assert.deepEqual(brokenOf("type A = true;"), []);
  assert.deepEqual(brokenOf('log.info("a", { b: true });'), []);
});

Deno.test("mutantsOf() gives two of the same kind two names", () => {
  const names = mutantsOf("src/x.ts", "a(); a();").map(({ name }) => name);
  assert.deepEqual(names, [
    "src/x.ts: not called: a();",
    "src/x.ts: not called: a(); #2",
  ]);
});
