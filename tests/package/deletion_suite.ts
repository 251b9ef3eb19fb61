/**
 * The core without a feature: its folder, its lines in `src/features.ts`, the
 * features that stand on it and the packages that name it are deleted in a copy
 * of the sources, in which nothing may miss them, and which must pass the suites
 * of the core. The types of a file are those of the files that it imports, so
 * that they are checked once: in the core without any feature.
 */
import assert from "node:assert/strict";
import { ROOT, SourceCopy } from "./source_copy.ts";

/** The parts outside of a feature's folder that are for this feature alone. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  views: ["packages/dev/", "src/view.ts"],
};

/** The suites of the core that run without each feature. */
const SUITES = [
  "tests/core/auth/server/token_test.ts",
  "tests/core/auth/server/well_known_test.ts",
  "tests/core/mcp/endpoint/session_test.ts",
  "tests/core/mcp/exchange/check_test.ts",
  "tests/core/mcp/methods/resource_read_test.ts",
  "tests/core/protocol/catalogue_test.ts",
  "tests/core/server/server_test.ts",
];

/** Removes a feature's imports and its places in the lists. */
function withoutFeatures(text: string, folders: readonly string[]): string {
  for (const folder of folders) {
    const before = text;
    const place = folder.replace("src/", "./").replace(/^packages/, "../$&");
    const [line, name] = text.split("\n")
      .map((line) => /^import \{ (\w+) \} from "(.*)feature\.ts";/.exec(line))
      .find((found) => found?.[2] === place) ?? [];
    if (line) text = text.replace(`${line}\n`, "");
    if (name) text = text.replace(`  ${name},\n`, "");
    assert.notEqual(text, before, `src/features.ts has no line of ${folder}`);
  }
  return text;
}

/** Lists the files that a file of the sources imports, from the root. */
async function importsOf(path: string): Promise<string[]> {
  if (!/\.tsx?$/.test(path)) return [];
  const text = await Deno.readTextFile(new URL(path, ROOT));
  return text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]*)"/g)
    .map(([, to]) => new URL(to, `file:///${path}`).pathname.slice(1))
    .toArray();
}

/** Finds a feature and those that stand on it, by what they import. */
async function standingOn(feature: string): Promise<string[]> {
  const all = new Set([feature]);
  for (let before = 0; before < all.size;) {
    before = all.size;
    for (const other of features) {
      const folder = `src/features/${other}/`;
      const paths = await Array.fromAsync(Deno.readDir(new URL(folder, ROOT)));
      const lists = await Promise.all(
        paths.map(({ name }) => importsOf(folder + name)),
      );
      const stands = lists.flat().some((to) =>
        all.has(/^src\/features\/(\w+)\//.exec(to)?.[1] ?? "")
      );
      if (stands) all.add(other);
    }
  }
  return [...all];
}

/** Takes out of packages and kits the files that need what is gone. */
async function without(
  paths: readonly string[],
  isGone: (path: string) => boolean,
): Promise<string[]> {
  const left = new Map<string, string[]>();
  for (const path of paths) {
    if (!isGone(path)) left.set(path, await importsOf(path));
  }
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const [path, imports] of left) {
      if (path.startsWith("src/")) continue;
      const lacks = imports.some((to) =>
        isGone(to) || paths.includes(to) && !left.has(to)
      );
      if (lacks) left.delete(path);
    }
  }
  return [...left.keys()];
}

const features = (await Array.fromAsync(
  Deno.readDir(new URL("src/features/", ROOT)),
)).map(({ name }) => name).sort();

/** Makes a copy without features and all that names them. */
async function copyWithout(together: readonly string[]): Promise<SourceCopy> {
  const copy = new SourceCopy();
  const gone = together.flatMap((name) => [
    `src/features/${name}/`,
    ...PARTS[name] ?? [],
  ]);
  const all = await Promise.all(
    ["src/", "packages/", "tests/kit/", "tests/core/"].map((it) =>
      copy.list(it)
    ),
  );
  const sources = await without(
    all.flat(),
    (path) => gone.some((it) => path.startsWith(it)),
  );
  await copy.take(sources);
  const list = await Deno.readTextFile(new URL("src/features.ts", ROOT));
  const folders = gone.filter((it) => it.endsWith("/"));
  await copy.write("src/features.ts", withoutFeatures(list, folders));
  await copy.writeWhole(
    sources,
    // Suites that start a server by the test kit go with the feature.
    SUITES.filter((path) => sources.includes(path)),
  );
  return copy;
}

for (const feature of features) {
  Deno.test(`nothing misses ${feature}, and the core passes its suites without it`, async () => {
    await using copy = await copyWithout(await standingOn(feature));
    assert.deepEqual(await copy.missing(), []);
    const { success, output } = await copy.test("--no-check");
    assert.ok(success, output.slice(-4000));
    assert.match(output, /[1-9]\d* passed/);
  });
}

Deno.test("the core type-checks and passes its suites without any feature", async () => {
  await using copy = await copyWithout(features);
  const { success, output } = await copy.test();
  assert.ok(success, output.slice(-4000));
  assert.match(output, /[1-9]\d* passed/);
});
