/**
 * Gives the tests the imports of the server, besides their own: a package that
 * a clone adds to `deno.json` is loaded by its tests too.
 *
 * @module
 */
import { answerHelp } from "./kit/help.ts";

const ROOT = new URL("../", import.meta.url);

/** Reads one of the two configurations. */
async function read(path: string) {
  return JSON.parse(await Deno.readTextFile(new URL(path, ROOT)));
}

answerHelp();
const own = await read("deno.json");
const tests = await read("tests/deno.json");
const before = JSON.stringify(tests);
Object.assign(tests.imports, own.imports);
if (JSON.stringify(tests) !== before) {
  const text = JSON.stringify(tests, null, 2);
  await Deno.writeTextFile(new URL("tests/deno.json", ROOT), `${text}\n`);
  console.log("Wrote tests/deno.json.");
}
