/**
 * `deno task mutate --only=src/oauth`: breaks one rule at a time and sees
 * whether a test notices.
 *
 *     --only=PATH      a file or folder; may be given several times
 *     --kind=TEXT      mutants whose kind says so: --kind='without .check()'
 *     --shard=2/4      the second quarter
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
import { parseArgs } from "node:util";
import { applyMutant, type Mutant, mutantsOf } from "./mutants.ts";
import { nearestTests } from "./nearest.ts";
import { type Verdict, Workplace } from "./workplace.ts";

/** What is wrong with rules, gates, stores, endpoints or the wire. */
const RULES = [
  "src/oauth",
  "src/gates",
  "src/authorization_server",
  "src/account",
  "src/client_documents",
  "src/http",
  "src/protocol",
  "src/engine",
  "src/store",
];

/** Beyond what the same tests took when nothing was broken. */
const PATIENCE_SECONDS = 30;

interface Result {
  name: string;
  line: number;
  verdict: Verdict;
  replacement: string;
}

const { values: flags } = parseArgs({
  args: Deno.args,
  options: {
    only: { type: "string", multiple: true, default: RULES },
    kind: { type: "string", default: "" },
    shard: { type: "string", default: "1/1" },
    results: { type: "string", default: "data/mutants.jsonl" },
    nearest: { type: "boolean", default: false },
    again: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});

const equivalent: Record<string, string> = JSON.parse(
  await Deno.readTextFile(new URL("equivalent.json", import.meta.url)),
);

/** Every source file at or below a path. */
async function* sourcesOf(path: string): AsyncGenerator<string> {
  const { isFile } = await Deno.stat(path);
  if (isFile) {
    if (/\.tsx?$/.test(path)) yield path;
    return;
  }
  const entries = await Array.fromAsync(Deno.readDir(path));
  for (const { name } of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
    yield* sourcesOf(`${path}/${name}`);
  }
}

/** A file as it was when everything began, and what may become of it. */
interface Plan {
  source: string;
  mutants: Mutant[];
}

/** The mutants of this shard, by file. */
async function planned(): Promise<Map<string, Plan>> {
  const [part, parts] = flags.shard.split("/").map(Number);
  const plan = new Map<string, Plan>();
  let count = 0;
  for (const only of flags.only) {
    for await (const path of sourcesOf(only.replace(/\/$/, ""))) {
      // A file belongs to one shard: its tests are warmed up once.
      if (count++ % parts !== part - 1) continue;
      const source = await Deno.readTextFile(path);
      const mutants = mutantsOf(path, source)
        .filter(({ name, kind }) =>
          !Object.hasOwn(equivalent, name) && kind.includes(flags.kind)
        );
      plan.set(path, { source, mutants });
    }
  }
  return plan;
}

async function known(): Promise<Map<string, Result>> {
  const text = await Deno.readTextFile(flags.results).catch(() => "");
  const results = text.split("\n").filter(Boolean)
    .map((line): Result => JSON.parse(line));
  return new Map(results.map((result) => [result.name, result]));
}

/** Tests of a file that pass while nothing is broken, and how long they take. */
async function prepared(
  workplace: Workplace,
  path: string,
): Promise<{ paths: string[]; deadlineSeconds: number }[]> {
  const groups = nearestTests(
    path,
    (test) => workplace.exists(test),
    flags.nearest,
  );
  const ready = [];
  for (const paths of groups) {
    const start = performance.now();
    const verdict = await workplace.test(paths, 600);
    if (verdict !== "passed") {
      throw new Error(`${paths.join(" ")} ${verdict} with nothing broken`);
    }
    const seconds = (performance.now() - start) / 1000;
    ready.push({ paths, deadlineSeconds: 3 * seconds + PATIENCE_SECONDS });
  }
  return ready;
}

async function tried(
  workplace: Workplace,
  mutant: Mutant,
  source: string,
  groups: readonly { paths: string[]; deadlineSeconds: number }[],
): Promise<Verdict> {
  await workplace.write(mutant.path, applyMutant(source, mutant));
  try {
    for (const { paths, deadlineSeconds } of groups) {
      const verdict = await workplace.test(paths, deadlineSeconds);
      if (verdict !== "passed") return verdict;
    }
    return "passed";
  } finally {
    await workplace.write(mutant.path, source);
  }
}

function print({ name, line, replacement, verdict }: Result): string {
  const [path, ...rest] = name.split(": ");
  const shown = replacement.replaceAll(/\s+/g, " ");
  return `${verdict === "hung" ? "HUNG" : "SURVIVED"} ${path}:${line} ${
    rest.join(": ")
  } -> ${shown}`;
}

const plan = await planned();
const all = [...plan.values()].flatMap(({ mutants }) => mutants);
if (flags.list) {
  for (const { path, line, kind, original } of all) {
    console.log(`${path}:${line} ${kind}: ${original}`);
  }
  console.log(`${all.length} mutants`);
  Deno.exit();
}

const results = await known();
await Deno.mkdir(flags.results.replace(/[^/]*$/, "") || ".", {
  recursive: true,
});
await using workplace = await Workplace.create();
for (const [path, { source, mutants }] of plan) {
  const waiting = mutants.filter((mutant) => {
    const result = results.get(mutant.name);
    return !result || flags.again && result.verdict === "passed";
  });
  if (waiting.length === 0) continue;
  await workplace.write(path, source);
  const groups = await prepared(workplace, path);
  for (const mutant of waiting) {
    const result: Result = {
      name: mutant.name,
      line: mutant.line,
      verdict: await tried(workplace, mutant, source, groups),
      replacement: mutant.replacement,
    };
    results.set(result.name, result);
    await Deno.writeTextFile(flags.results, `${JSON.stringify(result)}\n`, {
      append: true,
    });
    if (result.verdict !== "failed") console.log(print(result));
  }
}

const done = all.map((mutant) => results.get(mutant.name)!);
const survivors = done.filter(({ verdict }) => verdict === "passed");
const hung = done.filter(({ verdict }) => verdict === "hung");
const share = 100 * (1 - survivors.length / Math.max(1, done.length));
console.log(
  `${done.length} mutants, ${survivors.length} survived, ${hung.length} hung: ${
    share.toFixed(1)
  } % were noticed`,
);
