/** The simulator itself: a seed repeats, and a fault is found and shrunk. */
import assert from "node:assert/strict";
import { kvWith } from "../kit/kv.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";
import { shrink } from "./shrink.ts";
import { simulate } from "./simulation.ts";

const STEPS = 1500;

/** Runs a test of simulations, whose processes die with requests under way. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, sanitizeResources: false, fn });
}

/** A database whose commits look at no version. */
function careless(kv: Deno.Kv): Deno.Kv {
  const atomic = () => {
    const operation = kv.atomic();
    operation.check = () => operation;
    return operation;
  };
  return kvWith(kv, { atomic });
}

test("simulate() does the same for the same seed, and something else for another", async () => {
  const traces = new Set<string>();
  for (const seed of [7, 7, 5]) {
    traces.add((await simulate({ seed, steps: STEPS, but: "." })).trace);
  }
  assert.equal(traces.size, 2);
  // In a process that must first translate every module, which takes a while.
  await using info = new Process(["info", "--json"]);
  await info.end();
  const [, npmCache] = /"npmCache": "(.*)"/.exec(info.output)!;
  await using cache = new TemporaryDirectory();
  await Deno.symlink(npmCache, `${cache.path}/npm`);
  const args = `--seed 7 --steps ${STEPS} --but .`.split(" ");
  await using again = new Process(["task", "simulate", ...args], {
    env: { DENO_DIR: cache.path },
  });
  const [, trace] = await again.prints(/the last (\S+)/);
  assert(traces.has(trace), again.output);
});

test("simulate() finds that a database checks nothing, and shrink() what that needs", async () => {
  const surroundings = { replace: careless };
  // Another change of the code is another run: no seed finds it for ever.
  for (let seed = 1; seed <= 20; seed++) {
    const simulation = { seed, steps: STEPS };
    const outcome = await simulate(simulation, surroundings);
    if (!outcome.broken) continue;
    const least = await shrink(outcome, surroundings);
    assert(least.simulation.without!.length > 0);
    assert(least.simulation.steps <= STEPS);
    const sound = await simulate(least.simulation);
    return assert.equal(sound.broken, undefined);
  }
  assert.fail("no seed found it");
});

/** Seeds, and steps, that broke a promise before what they found was fixed. */
const KEPT: [seed: number, steps?: number][] = [
  // Work that only a newer release knows, beside a process of an older one.
  [36],
  // A refresh that a process began before it stood still.
  [504],
  // The end of an approved run, stored by a commit that was given up.
  [3713136247, 4000],
  // A token that a service forgot within a minute of its renewal.
  [989785906, 10_000],
  // An operator's command about a person with a used answer.
  [3294523608, 10_000],
  // A person who decides after a pause about a run whose end is unknown.
  [2945749627, 10_000],
];

for (const [seed, steps = STEPS] of KEPT) {
  test(`simulate() breaks no promise with the seed ${seed}`, async () => {
    const { broken } = await simulate({ seed, steps });
    assert.equal(broken, undefined);
  });
}
