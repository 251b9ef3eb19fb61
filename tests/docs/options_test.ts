/** The page about options, against the tables by which options are checked. */
import assert from "node:assert/strict";
import { optionsPage } from "../../scripts/options.ts";
import { REPOSITORY } from "../kit/process.ts";

Deno.test("docs/options.md is written from the tables: run deno task options", async () => {
  const page = new URL("docs/options.md", REPOSITORY);
  assert.equal(await optionsPage(), await Deno.readTextFile(page));
});
