/**
 * Runs simulations, and shrinks the first that breaks a promise:
 *
 *     deno task simulate                  one with a fresh seed
 *     deno task simulate --seed 7         the same again
 *     deno task simulate --minutes 2      as many fresh ones as there is time for
 *
 * `--steps N`: the happenings until all faults end; `--without stop,app12`:
 * faults and clients that are left out; `--but WORDS`: broken promises with
 * these words are passed over; `--trace`: prints all that happens.
 *
 * @module
 */
import { answerHelp } from "../kit/help.ts";
import { parseArgs } from "node:util";
import { FAULTS, Faults, type Simulation } from "./faults.ts";
import { shrink } from "./shrink.ts";
import { type Outcome, simulate } from "./simulation.ts";

const STEPS = 10_000;

/** The time since the start, which a simulation does not move. */
const steadyNow = performance.now.bind(performance);

answerHelp();
const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    steps: { type: "string" },
    minutes: { type: "string" },
    without: { type: "string" },
    but: { type: "string" },
    trace: { type: "boolean" },
  },
});

/** Prints how a simulation is run again. */
function commandOf({ seed, steps, without = [] }: Simulation): string {
  const rest = without.length > 0 ? ` --without ${without}` : "";
  return `deno task simulate --seed ${seed} --steps ${steps}${rest}`;
}

/** Prints what broke, and the least that is needed for it. */
async function report(outcome: Outcome): Promise<void> {
  console.log(`FAILED ${commandOf(outcome.simulation)}`);
  console.log(outcome.broken!.message);
  if (values.trace) return;
  const least = await shrink(outcome);
  console.log(`Shrunk to ${least.steps} steps:`);
  console.log(commandOf(least.simulation));
  console.log(least.broken!.stack);
  for (const fault of new Faults(least.simulation).shares.keys()) {
    console.log(`with ${fault}: ${FAULTS[fault]}`);
  }
}

const until = steadyNow() + Number(values.minutes ?? 0) * 60_000;
let seed = values.seed === undefined
  ? crypto.getRandomValues(new Uint32Array(1))[0]
  : Number(values.seed);
const first = seed;
let count = 0;
let steps = 0;
let trace = "";
let hasFailed = false;
do {
  const outcome = await simulate({
    seed,
    steps: Number(values.steps ?? STEPS),
    without: values.without?.split(","),
    but: values.but,
  }, { onStep: values.trace ? (line) => console.log(line) : undefined });
  count++;
  steps += outcome.steps;
  ({ trace } = outcome);
  if (outcome.broken) {
    hasFailed = true;
    await report(outcome);
  }
  seed++;
} while (steadyNow() < until && !hasFailed);
console.log(
  `${count} simulations from seed ${first} on, ${steps} steps, the last ${trace}`,
);
// The processes of the last simulation would go on.
Deno.exit(hasFailed ? 1 : 0);
