/** A few of the inputs that `deno task fuzz` tries, always the same. */
import { PARSERS } from "./parsers.ts";
import { withWorld } from "./surface.ts";

const SEED = 20260728;

for (const { name, run } of PARSERS) {
  Deno.test(name, () => run({ seed: SEED, numRuns: 150 }));
}

Deno.test("every endpoint answers anything", async (t) => {
  await withWorld(async (properties) => {
    for (const { name, run } of properties) {
      await t.step(name, () => run({ seed: SEED, numRuns: 60 }));
    }
  });
});
