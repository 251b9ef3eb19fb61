import assert from "node:assert/strict";
import equivalent from "../equivalent.json" with { type: "json" };
import { mutantsOf } from "../mutants.ts";

const ROOT = new URL("../../../", import.meta.url);

/** Names the mutants of a source file; none if there is no such file. */
async function namesIn(path: string): Promise<string[]> {
  try {
    const source = await Deno.readTextFile(new URL(path, ROOT));
    return mutantsOf(path, source).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

Deno.test("equivalent.json explains mutants of today's source alone", async () => {
  const explained = Object.keys(equivalent);
  const paths = new Set(explained.map((name) => name.split(": ", 1)[0]));
  const all = (await Promise.all([...paths].map(namesIn))).flat();
  const known = new Set(all);
  assert.deepEqual(explained.filter((name) => !known.has(name)), []);
});
