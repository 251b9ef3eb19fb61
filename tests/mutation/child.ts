/**
 * The process that `test_process.ts` starts: it loads files of tests into one
 * program and runs one test at a time, with one mutant switched on or none, by
 * orders on stdin.
 *
 *     child.ts MUTANT FILE...
 *
 * @module
 */
import {
  type Loaded,
  MARK,
  NO_MUTANT,
  type Order,
  type Ran,
  SWITCH,
} from "./test_process.ts";

interface Test {
  name: string;
  fn: (context: unknown) => unknown;
  ignore?: boolean;
}

// Tests replace this clock by their own.
const { setTimeout } = globalThis;
const tests: Test[] = [];
const errors: unknown[] = [];
let reached = new Set<number>();
let active = Number(Deno.args[0]);

Object.assign(globalThis, {
  [SWITCH]: (id: number) => {
    reached.add(id);
    return id === active;
  },
});
Object.assign(Deno, { test: collect });
for (const type of ["unhandledrejection", "error"]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    errors.push(event);
  });
}

/** Accepts a test in every form that `Deno.test` allows. */
function collect(...given: unknown[]): void {
  const test: Partial<Test> = {};
  for (const one of given) {
    if (typeof one === "string") test.name = one;
    else if (typeof one === "function") test.fn = one as Test["fn"];
    else Object.assign(test, one);
  }
  test.name ??= test.fn!.name;
  if (!test.ignore) tests.push(test as Test);
}

/** Makes the context of a test: its steps run within it and make it fail. */
function contextOf(test: Partial<Test>): unknown {
  return {
    name: test.name,
    origin: import.meta.url,
    step: async (...given: unknown[]) => {
      const before = tests.length;
      collect(...given);
      for (const step of tests.splice(before)) await step.fn(contextOf(step));
      return true;
    },
  };
}

async function run({ fn, name }: Test): Promise<boolean> {
  try {
    await fn(contextOf({ name }));
  } catch (error) {
    errors.push(error);
  }
  // An unhandled rejection is reported in the next turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return errors.splice(0).length === 0;
}

/** Lists the mutants that were reached, or the active one. */
function taken(): number[] {
  const all = [...reached];
  reached = new Set();
  return active === NO_MUTANT ? all : all.filter((id) => id === active);
}

function tell(report: Loaded | Ran): void {
  let bytes = new TextEncoder().encode(`\n${MARK}${JSON.stringify(report)}\n`);
  while (bytes.length > 0) {
    bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
  }
}

for (const path of Deno.args.slice(1)) {
  await import(new URL(path, `file://${Deno.cwd()}/`).href);
}
tell({ tests: tests.map(({ name }) => name), reached: taken() });

let rest = "";
for await (
  const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())
) {
  const lines = (rest + text).split("\n");
  rest = lines.pop()!;
  for (const line of lines) {
    const { test, mutant }: Order = JSON.parse(line);
    active = mutant;
    tell({ passed: await run(tests[test]), reached: taken() });
  }
}
