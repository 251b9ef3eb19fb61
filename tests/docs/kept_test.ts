/**
 * The table of what is kept about a person against the keys of the database: a
 * new key is about a person and in the table, or it is named here.
 *
 * @module
 */
import assert from "node:assert/strict";
import { keptAbout } from "../../src/features/account_page/kept_data.ts";
import { KEPT_DATA, keptUnder } from "../kit/kept.ts";
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
  "fence",
  "given-up",
  "last-start",
  "layout",
  "long-tool",
  "reachability",
  "mcp-client",
  "moving",
  "probe",
  "secret",
  "spent",
  "step-failures",
  "task-lease",
];

/** Reads the rows of a page's table, without the head. */
async function rowsOf(page: string, heading: string): Promise<string[][]> {
  const text = await Deno.readTextFile(new URL(page, REPOSITORY));
  const part = text.split(new RegExp(`^#+ ${heading}$`, "m"))[1]
    .split(/^#/m)[0];
  return part.split("\n").filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))
    .slice(2);
}

Deno.test("KEPT_DATA has every key under which something is kept about a person", async () => {
  const keys = await rowsOf("contributing/architecture.md", "Keys");
  const named = new Set(KEPT_DATA.flatMap(({ keys }) => keys));
  assert.deepEqual(
    [...named, ...NOT_OF_A_PERSON].toSorted(),
    keys.flatMap(([cell]) =>
      [...cell.matchAll(/`([a-z-]+)`/g)].map(([, code]) => code)
    ).toSorted(),
  );
});

Deno.test("docs/people.md tells what is kept about a person as KEPT_DATA does", async () => {
  const settings = keptUnder({});
  const rows = KEPT_DATA.map(({ what, keys, until, stays }) => [
    what,
    keys.map((key) => `\`${key}\``).join(", "),
    until(settings),
    stays === undefined ? "yes" : `no, ${stays}`,
  ]);
  const page = await rowsOf("docs/people.md", "What is kept about a person");
  assert.deepEqual(page, rows);
});

Deno.test("keptAbout() leaves out what the settings keep nothing of", () => {
  const all = keptAbout(KEPT_DATA, keptUnder({ OAUTH_LEDGER_DAYS: "1" }));
  const fewer = keptAbout(KEPT_DATA, keptUnder({ OAUTH_LEDGER_DAYS: "0" }));
  const gone = all.filter(([what]) => !fewer.some(([it]) => it === what));
  assert.deepEqual(gone.map(([, until]) => until), [
    "24 hours, or until their connection ends",
    "24 hours",
  ]);
});
