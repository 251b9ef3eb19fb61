import assert from "node:assert/strict";
import { mutantsOf } from "../mutants.ts";
import { Suite } from "../suite.ts";
import { withSwitches } from "../switches.ts";

const SOURCE = `
const MOST = 7;
let made;
export const isFew = (count) => count < MOST;
export const once = () => made ??= { isMade: true };
export const end = (isOver) => isOver !== true || new Promise(() => {});
`;

const TESTS = `
import { end, isFew, once } from "../src/x.ts";
const check = (is) => { if (!is) throw new Error("no"); };
Deno.test("few are few", () => check(isFew(6)));
Deno.test("it is made", () => check(once().isMade));
Deno.test("it ends", async (t) => { await t.step("in a step", () => end(false)); });
Deno.test("what no one awaits", () => { Promise.reject(new Error("no")); });
Deno.test({ name: "not here", ignore: true, fn: () => check(false) });
`;

/** Makes a suite in a project of one source and one file of tests. */
async function measured(): Promise<
  { suite: Suite; idOf: (kind: string) => number } & AsyncDisposable
> {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(`${root}/tests`);
  await Deno.mkdir(`${root}/src`);
  await Deno.writeTextFile(`${root}/tests/deno.json`, "{}");
  const mutants = mutantsOf("src/x.ts", SOURCE)
    .map((mutant, id) => ({ ...mutant, id }));
  await Deno.writeTextFile(
    `${root}/src/x.ts`,
    withSwitches("src/x.ts", SOURCE, mutants, () => {}),
  );
  await Deno.writeTextFile(`${root}/tests/x_test.ts`, TESTS);
  const suite = await Suite.measure(root, ["tests/x_test.ts"]);
  return {
    suite,
    idOf: (kind) => mutants.find((one) => one.kind === kind)!.id,
    async [Symbol.asyncDispose]() {
      await suite.end();
      await Deno.remove(root, { recursive: true });
    },
  };
}

Deno.test("a suite tells what each test reaches, and leaves out what fails with nothing broken", async () => {
  await using place = await measured();
  const { suite, idOf } = place;
  assert.deepEqual(suite.leftOut, ["tests/x_test.ts: what no one awaits"]);
  assert.deepEqual(suite.tests.map(({ name }) => name), [
    "few are few",
    "it is made",
    "it ends",
  ]);
  const [few] = suite.tests;
  assert.ok(few.reached.has(idOf("<= instead")));
  assert.ok(!few.reached.has(idOf("true is false")));
  assert.deepEqual([...suite.loading], [idOf("ten times as much")]);
});

Deno.test("a suite notices a mutant, or does not, and tries one that is constant from the start", async () => {
  await using place = await measured();
  const { suite, idOf } = place;
  assert.deepEqual(await suite.try(idOf("<= instead")), {
    verdict: "passed",
    isSure: true,
  });
  const once = idOf("true is false");
  assert.deepEqual(await suite.try(once), { verdict: "passed", isSure: false });
  assert.equal(await suite.tryFromStart(once), "failed");
  assert.equal(await suite.tryFromStart(idOf("ten times as much")), "passed");
});

Deno.test("a suite ends a test that hangs and goes on", async () => {
  await using place = await measured();
  const { suite, idOf } = place;
  const { verdict } = await suite.try(idOf("=== instead"));
  assert.equal(verdict, "hung");
  assert.equal((await suite.try(idOf("<= instead"))).verdict, "passed");
});
