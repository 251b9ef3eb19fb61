/**
 * `deno task fuzz --minutes=10`: tries every parser and every endpoint with
 * strangers' inputs, in rounds, until the time is over. An input that breaks
 * one is printed in its smallest form, with the seed that finds it again.
 *
 *     --minutes=N   one by default
 *     --seed=S      of the first round; each further one counts up
 *
 * @module
 */
import { answerHelp } from "../kit/help.ts";
import { parseArgs } from "node:util";
import { PARSERS } from "./parsers.ts";
import type { Property } from "./property.ts";
import { withWorld } from "./surface.ts";

answerHelp();
const { values: { minutes, seed: first } } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string" },
  },
});

const start = Number(
  first ?? crypto.getRandomValues(new Uint16Array(1))[0] * 1000,
);
const end = performance.now() + Number(minutes) * 60_000;
let tried = 0;
let failures = 0;

async function round(
  properties: readonly Property[],
  seed: number,
  numRuns: number,
): Promise<void> {
  for (const { name, run } of properties) {
    if (performance.now() > end) return;
    try {
      await run({ seed, numRuns });
    } catch (error) {
      failures++;
      console.error(`BROKEN with --seed=${seed}: ${name}\n${error}`);
    }
    tried += numRuns;
  }
}

console.log(`--seed=${start}`);
for (let seed = start; performance.now() < end; seed++) {
  await round(PARSERS, seed, 500);
  await withWorld((properties) => round(properties, seed, 200));
}
console.log(`${tried} inputs from seed ${start} on, ${failures} failures`);
if (failures > 0) Deno.exit(1);
