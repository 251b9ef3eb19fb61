/**
 * The table of what is kept about a person against the keys of the database: a
 * new key is about a person and in the table, or it is named here.
 *
 * @module
 */
import assert from "node:assert/strict";
import { REPOSITORY } from "../kit/process.ts";

/** Keys under which nothing is about one person. */
const NOT_OF_A_PERSON = [
  "assertion",
  "attempts",
  "block-head",
  "bucket",
  "cancel",
  "cancel-head",
  "change",
  "change-head",
  "client-use",
  "document",
  "erased",
  "fence",
  "given-up",
  "last-start",
  "look",
  "people-gathered",
  "probe",
  "secret",
  "spent",
  "step-failures",
  "task-lease",
];

async function rowsOf(page: string, heading: string): Promise<string[][]> {
  const text = await Deno.readTextFile(new URL(page, REPOSITORY));
  const part = text.split(new RegExp(`^#+ ${heading}$`, "m"))[1]
    .split(/^#/m)[0];
  return part.split("\n").filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))
    .slice(2);
}

function codes(cell: string): string[] {
  return [...cell.matchAll(/`([a-z-]+)`/g)].map(([, code]) => code);
}

Deno.test("docs/operate.md has every key under which something is kept about a person", async () => {
  const kept = await rowsOf("docs/operate.md", "What is kept about a person");
  const keys = await rowsOf("docs/architecture.md", "Keys");
  const named = new Set(kept.flatMap(([, cell]) => codes(cell)));
  assert.deepEqual(
    [...named, ...NOT_OF_A_PERSON].toSorted(),
    keys.flatMap(([cell]) => codes(cell)).toSorted(),
  );
});
