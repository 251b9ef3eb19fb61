/** The simulator itself: a seed repeats, and a fault is found and shrunk. */
import assert from "node:assert/strict";
import { kvWith } from "../kit/kv.ts";
import { shrink } from "./shrink.ts";
import { simulate } from "./simulation.ts";

const STEPS = 1500;

/** A database whose commits look at no version. */
function careless(kv: Deno.Kv): Deno.Kv {
  const atomic = () => {
    const operation = kv.atomic();
    operation.check = () => operation;
    return operation;
  };
  return kvWith(kv, { atomic });
}

Deno.test("simulate() does the same for the same seed, and something else for another", async () => {
  const traces = new Set<string>();
  for (const seed of [4, 4, 5]) {
    traces.add((await simulate({ seed, steps: STEPS, but: "." })).trace);
  }
  assert.equal(traces.size, 2);
});

Deno.test("simulate() finds that a database checks nothing, and shrink() what that needs", async () => {
  const simulation = { seed: 8, steps: STEPS, but: "tokens of the service" };
  const surroundings = { replace: careless };
  const outcome = await simulate(simulation, surroundings);
  assert(outcome.broken);
  const least = await shrink(outcome, surroundings);
  assert(least.broken);
  assert(least.simulation.steps < STEPS);
  const sound = await simulate(least.simulation);
  assert.equal(sound.broken, undefined);
});
