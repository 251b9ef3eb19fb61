/**
 * A feature more: the files that contributing/extending.md shows, and nothing
 * else, are added to a copy of the sources, which must type-check as a whole and
 * pass the test that the page shows.
 */
import assert from "node:assert/strict";
import { ROOT, SourceCopy } from "./source_copy.ts";

const page = await Deno.readTextFile(
  new URL("contributing/extending.md", ROOT),
);
const [section] = page.split("## How to add a feature")[1].split("\n## ");
/** The files of the example, by their paths. */
const shown = new Map(
  section.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)
    .map(([, path, text]) => [path, text] as const),
);

Deno.test("contributing/extending.md shows a folder, a line of src/features.ts and a test", () => {
  assert.deepEqual(
    [...shown.keys()].map((path) => path.replace(/\/\w+\.ts$/, "/")),
    [
      ...Array(3).fill("src/features/motd/"),
      "src/",
      "tests/features/motd/",
    ],
  );
});

Deno.test("the feature of contributing/extending.md type-checks with everything, and works", async () => {
  await using copy = new SourceCopy();
  const lists = await Promise.all(
    ["src/", "packages/", "tests/kit/"].map((it) => copy.list(it)),
  );
  const sources = lists.flat();
  await copy.take(sources);
  for (const [path, text] of shown) {
    if (path !== "src/features.ts") await copy.write(path, text);
  }
  const line = shown.get("src/features.ts")!;
  const [head, entry] = line.split(/(?<=;\n)/);
  const list = await Deno.readTextFile(new URL("src/features.ts", ROOT));
  await copy.write(
    "src/features.ts",
    list.replace("\nexport const", `${head}\nexport const`)
      .replace(/\];\n$/, `${entry}];\n`),
  );
  const own = [...shown.keys()];
  await copy.writeWhole(
    [...sources, ...own.filter((path) => !sources.includes(path))],
    own.filter((path) => path.endsWith("_test.ts")),
  );
  const { success, output } = await copy.test();
  assert.ok(success, output.slice(-4000));
  assert.match(output, /1 passed/);
});
