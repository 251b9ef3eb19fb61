import assert from "node:assert/strict";
import ts from "typescript";
import { mutantsOf } from "../mutants.ts";
import { SWITCH } from "../test_process.ts";
import { withSwitches } from "../switches.ts";

/** Computes `x` in the source with no mutant, then with each one on. */
function valuesOf(source: string): unknown[] {
  const { text, switched } = switchedIn(source);
  const script = ts.transpile(text);
  const run = new Function("globalThis", `let x;\n${script}\nreturn x;`);
  return [-1, ...switched].map((active) =>
    run({ [SWITCH]: (id: number) => id === active })
  );
}

function switchedIn(source: string): { text: string; switched: number[] } {
  const switched: number[] = [];
  const mutants = mutantsOf("src/x.ts", source)
    .map((mutant, id) => ({ ...mutant, id }));
  const text = withSwitches("src/x.ts", source, mutants, ({ id }) => {
    switched.push(id);
  });
  return { text, switched: switched.sort((a, b) => a - b) };
}

Deno.test("withSwitches() changes nothing while nothing is switched on", () => {
  const source = "/** Kept. */\nx = 1 < 2 ? [`a${!true}`] : 0; // as it is\n";
  assert.deepEqual(valuesOf(source)[0], ["afalse"]);
});

Deno.test("withSwitches() gives each mutant a switch of its own", () => {
  assert.deepEqual(valuesOf("x = 1 < 2 && 3 === 3;"), [
    true,
    // The left side alone, the right side alone, <=, !==.
    true,
    true,
    true,
    false,
  ]);
  assert.deepEqual(valuesOf("x = 1; if (x === 1) x = 2; else x = 3;"), [
    2,
    3,
    2,
    3,
  ]);
});

Deno.test("withSwitches() leaves an else to its own if", () => {
  const source = "const f = () => { x = 1; }; if (true) f(); else x = 2;";
  const values = valuesOf(source);
  assert.equal(values[0], 1);
  assert.ok(values.includes(undefined), "not called");
  assert.ok(values.includes(2), "condition is never true");
});

Deno.test("withSwitches() tells which mutants can have no switch", () => {
  const counts = (source: string) => switchedIn(source).switched.length;
  assert.equal(counts("x = a?.b.trim();"), 1);
  assert.equal(counts("x = a?.b.trim().c;"), 0);
  assert.equal(counts("[a, b] = c;"), 0);
  assert.equal(counts("class A extends B { constructor() { super(); } }"), 0);
});
