/**
 * `deno task mutate --only=src/oauth`: breaks one rule at a time and checks if
 * a test notices.
 *
 *     --only=PATH      a file or folder; may be given several times
 *     --kind=TEXT      mutants whose kind says so: --kind='without .check()'
 *     --sample=N       so many of each file or folder, as a seed decides
 *     --seed=N         that seed; without it a fresh one, which is printed
 *     --jobs=N         processes of tests side by side, one by default
 *     --nearest        the file's own tests and its folder's, no others
 *     --results=PATH   what is known already, one line of JSON each; a mutant
 *                      that is in it is not tried again
 *     --again          tries those that survived once more
 *     --list           prints the mutants and tries none
 *
 * Survivors that change nothing are explained in `equivalent.json`: they are
 * neither tried nor counted.
 *
 * @module
 */
import { answerHelp } from "../kit/help.ts";
import { parseArgs } from "node:util";
import { fingerprint } from "../../src/core/crypto/crypto.ts";
import { Hunt, inTurns, nearestTests } from "./hunt.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";
import { isSurvivor, Results, summary } from "./results.ts";
import { type Numbered, withSwitches } from "./switches.ts";
import { filesBelow } from "../kit/files.ts";
import { findPostgres, Postgres } from "../kit/postgres.ts";
import { RealTests, Workplace } from "./workplace.ts";

/** The folders with rules, gates, stores, endpoints and the wire. */
const RULES = [
  "src/core/oauth",
  "src/core/auth/doors",
  "src/core/auth/server",
  "src/core/auth/clients",
  "src/core/http",
  "src/core/mcp",
  "src/core/kv",
  "src/core/store",
  "src/features",
];

/** Tests that run other programs than the broken one. */
const OTHER_PROGRAMS =
  /^tests\/(?:browser|cluster|conformance|interop|package|process|remote)\//;

answerHelp();
const { values: flags } = parseArgs({
  args: Deno.args,
  options: {
    only: { type: "string", multiple: true, default: RULES },
    kind: { type: "string", default: "" },
    sample: { type: "string", default: "Infinity" },
    seed: {
      type: "string",
      default: `${crypto.getRandomValues(new Uint16Array(1))[0]}`,
    },
    jobs: { type: "string", default: "1" },
    results: { type: "string", default: "data/mutants.jsonl" },
    nearest: { type: "boolean", default: false },
    again: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});
const jobs = Number(flags.jobs);
const sample = Number(flags.sample);

const equivalent: Record<string, string> = JSON.parse(
  await Deno.readTextFile(new URL("equivalent.json", import.meta.url)),
);

/** Finds the mutants of a file or folder, in the order of their places. */
async function wantedIn(only: string): Promise<Mutant[]> {
  const all: Mutant[] = [];
  for await (const path of filesBelow(only.replace(/\/$/, ""))) {
    if (!/\.tsx?$/.test(path)) continue;
    all.push(...mutantsOf(path, await Deno.readTextFile(path)));
  }
  const here = all.filter(({ name, kind }) =>
    !Object.hasOwn(equivalent, name) && kind.includes(flags.kind)
  );
  if (here.length <= sample) return here;
  console.log(
    `${only}: ${sample} of ${here.length} mutants, --seed=${flags.seed}`,
  );
  // A mutant's turn depends on its name alone: changes of others leave it.
  const turnOf = ({ name }: Mutant) => fingerprint(`${flags.seed} ${name}`);
  return here.toSorted((a, b) => turnOf(a) < turnOf(b) ? -1 : 1)
    .slice(0, sample);
}

/** Installs the switches, and lists the mutants that got one. */
async function install(
  workplace: Workplace,
  mutants: readonly Numbered[],
): Promise<Set<Numbered>> {
  const switched = new Set<Numbered>();
  for (const [path, here] of Map.groupBy(mutants, ({ path }) => path)) {
    const source = await workplace.read(path);
    await workplace.write(
      path,
      withSwitches(path, source, here, (mutant) => switched.add(mutant)),
    );
  }
  return switched;
}

async function testFiles(): Promise<string[]> {
  const all = await Array.fromAsync(filesBelow("tests"));
  return all.filter((path) =>
    /_test\.tsx?$/.test(path) && !OTHER_PROGRAMS.test(path)
  );
}

/** Groups tests for the mutant as text in its file; none if none reaches it. */
function groupsOf(
  mutant: Numbered,
  reaching: readonly string[] | undefined,
): string[][] {
  return nearestTests(
    mutant.path,
    exists,
    reaching !== undefined || flags.nearest,
  )
    .map((group) =>
      reaching?.filter((path) =>
        group.some((place) => path.startsWith(place))
      ) ?? group
    )
    .filter((group) => group.length > 0);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

async function tryAll(waiting: readonly Mutant[]): Promise<void> {
  const mutants = waiting.map((mutant, id) => ({ ...mutant, id }));
  await using workplace = await Workplace.create();
  const switched = await install(workplace, mutants);
  const hunt = new Hunt({
    root: workplace.root,
    testFiles: await testFiles(),
    mutants: [...switched],
    jobs,
    isNearOnly: flags.nearest,
    noticed: (mutant, verdict) => results.add(mutant, verdict),
  });
  await hunt.run();
  for (const test of hunt.leftOut) console.log(`LEFT OUT ${test}`);

  await using stack = new AsyncDisposableStack();
  const places = await Promise.all(
    Array.from({ length: jobs }, () => RealTests.create()),
  );
  for (const place of places) stack.use(place);
  const left = mutants.filter((one) =>
    !switched.has(one) || hunt.alive.has(one.id)
  );
  await inTurns(left, jobs, async (mutant, job) => {
    const reaching = switched.has(mutant) ? hunt.reaching(mutant) : undefined;
    if (reaching?.length === 0) return await results.add(mutant, "unreached");
    // Only these tests notice a missing release, which is mostly a call that is
    // not made.
    const isRelease = !reaching || mutant.kind === "not called";
    const groups = groupsOf(mutant, reaching)
      .slice(0, isRelease ? Infinity : 1);
    await results.add(mutant, await places[job].try(mutant, groups));
  });
}

const all = (await Promise.all(flags.only.map(wantedIn))).flat();
if (flags.list) {
  for (const { path, line, kind, original } of all) {
    console.log(`${path}:${line} ${kind}: ${original}`);
  }
  console.log(`${all.length} mutants`);
  Deno.exit();
}
const programs = findPostgres();
const needsPostgres = all.some(({ path }) =>
  path.startsWith("packages/postgres/")
);
await using postgres = programs && needsPostgres
  ? await Postgres.start(programs, { fsync: "off" })
  : undefined;
// The processes of the tests find it there.
if (postgres) Deno.env.set("TEST_POSTGRES", postgres.url);
const results = await Results.open(flags.results);
const waiting = all.filter((mutant) => {
  const result = results.get(mutant);
  return !result || flags.again && isSurvivor(result);
});
if (waiting.length > 0) await tryAll(waiting);
for (const only of flags.only) {
  const here = all.filter(({ path }) => path.startsWith(only));
  console.log(summary(only, here.map((mutant) => results.get(mutant)!)));
}
