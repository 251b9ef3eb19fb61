import assert from "node:assert/strict";

const ROOT = new URL("../", import.meta.url).pathname;

/** The folders whose doc comments are checked; a missing one is skipped. */
const FOLDERS = ["src", "packages", "tests", "bench", "scripts", "examples"];

/** The first words that hide the noun of a doc comment from search. */
const NOUNLESS =
  /^(?:Who(?:ever|m|se)?|What(?:ever)?|Whether|Those|How|Where|When)\b/;

const DOC_COMMENT = /^[ \t]*\/\*\*[\s\S]*?\*\//gm;

/** Lists the source files below a folder, by their path from the root. */
async function* sourcesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(ROOT + folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory && name !== "node_modules") yield* sourcesBelow(path);
    else if (/\.tsx?$/.test(name)) yield path;
  }
}

/** Finds the doc comments of a file that do not name their thing first. */
function nounless(path: string, text: string): string[] {
  return [...text.matchAll(DOC_COMMENT)].flatMap(({ 0: comment, index }) => {
    const words = comment.replace(/^[ \t]*\/\*\*[\s*]*/, "");
    if (!NOUNLESS.test(words)) return [];
    const line = text.slice(0, index).split("\n").length;
    return [`${path}:${line} ${words.split("\n")[0]}`];
  });
}

Deno.test("nounless() finds a doc comment that begins with What, Who or How", () => {
  const text = [
    "/** The caller. */",
    "  /**",
    "   * What a caller may see.",
    "   */",
    "/** Who calls. */",
    "// What follows is no doc comment.",
  ].join("\n");
  assert.deepEqual(nounless("a.ts", text), [
    "a.ts:2 What a caller may see.",
    "a.ts:5 Who calls. */",
  ]);
});

Deno.test("doc comments name their thing first", async () => {
  const found: string[] = [];
  for (const folder of FOLDERS) {
    const there = await Deno.stat(ROOT + folder).catch(() => undefined);
    if (!there) continue;
    for await (const path of sourcesBelow(folder)) {
      found.push(...nounless(path, await Deno.readTextFile(ROOT + path)));
    }
  }
  assert.deepEqual(found.sort(), []);
});

/** Names that two files of the server may export. */
const HOMONYMS: ReadonlySet<string> = new Set([
  // An error code of OAuth, and an error of JSON-RPC.
  "invalidRequest",
]);

Deno.test("an exported name means one thing in the server", async () => {
  const places = new Map<string, string[]>();
  for await (const path of sourcesBelow("src")) {
    const names = (await Deno.readTextFile(ROOT + path)).matchAll(
      /^export (?:async )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/gm,
    );
    for (const name of new Set([...names].map(([, name]) => name))) {
      places.set(name, [...places.get(name) ?? [], path]);
    }
  }
  const twins = [...places].filter(([name, paths]) =>
    paths.length > 1 && !HOMONYMS.has(name)
  );
  assert.deepEqual(twins, []);
});
