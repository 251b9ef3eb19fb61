/**
 * The core without a feature: its folder, its line in `src/features.ts` and
 * everything that only it needs are deleted in a copy of the sources, which
 * must type-check as a whole and pass the suites of the core.
 */
import assert from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);

/** The features that others still import against the order of features. */
const BOUND = [
  "account_page",
  "accounts",
  "ledger",
  "operators",
  "questions",
  "work",
];

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

/** A copy of the sources in a folder of its own. */
class Copy implements AsyncDisposable {
  readonly root = new URL(`file://${Deno.makeTempDirSync()}/`);

  /** Lists the files of a folder, as paths from the root. */
  async list(folder: string): Promise<string[]> {
    const paths: string[] = [];
    for await (const it of Deno.readDir(new URL(folder, ROOT))) {
      const path = `${folder}${it.name}`;
      if (it.isDirectory) paths.push(...await this.list(`${path}/`));
      else if (it.isFile) paths.push(path);
    }
    return paths;
  }

  async write(path: string, text: string): Promise<void> {
    await Deno.writeTextFile(new URL(path, this.root), text);
  }

  /** Copies files of the sources. */
  async take(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      const place = new URL(path, this.root);
      await Deno.mkdir(new URL("./", place), { recursive: true });
      await Deno.copyFile(new URL(path, ROOT), place);
    }
  }

  /** Runs the suites, type-checked with everything that they import. */
  async test(): Promise<{ success: boolean; output: string }> {
    const { success, stdout, stderr } = await new Deno.Command(
      Deno.execPath(),
      {
        args: [
          ...["test", "--quiet", "--cached-only", "--allow-all"],
          ...["--config", "tests/deno.json", "tests/whole_test.ts", ...SUITES],
        ],
        cwd: this.root,
        env: { NO_COLOR: "1" },
        stdout: "piped",
        stderr: "piped",
      },
    ).output();
    const decoder = new TextDecoder();
    const output = decoder.decode(stdout) + decoder.decode(stderr);
    return { success, output };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** Removes the feature's import and its place in the list. */
function withoutFeatures(text: string, folders: readonly string[]): string {
  for (const folder of folders) {
    const place = folder.replace("src/", "./").replace(/^packages/, "../$&");
    const [line, name] = text.split("\n")
      .map((line) => /^import \{ (\w+) \} from "(.*)feature\.ts";/.exec(line))
      .find((found) => found?.[2] === place) ?? [];
    assert.ok(line && name, `src/features.ts has no line of ${folder}`);
    text = text.replace(`${line}\n`, "").replace(`  ${name},\n`, "");
  }
  return text;
}

const features = (await Array.fromAsync(
  Deno.readDir(new URL("src/features/", ROOT)),
)).map(({ name }) => name).sort();

for (const feature of features.filter((name) => !BOUND.includes(name))) {
  Deno.test(`the core type-checks and passes its suites without ${feature}`, async () => {
    await using copy = new Copy();
    const gone = [`src/features/${feature}/`, ...PARTS[feature] ?? []];
    const sources = (await Promise.all(
      ["src/", "packages/", "tests/kit/", "tests/core/"].map((it) =>
        copy.list(it)
      ),
    )).flat().filter((path) => !gone.some((it) => path.startsWith(it)));
    await copy.take([
      ...sources,
      ...["deno.json", "deno.lock", "tests/deno.json", "tests/deno.lock"],
    ]);
    const list = await Deno.readTextFile(new URL("src/features.ts", ROOT));
    const folders = gone.filter((it) => it.endsWith("/"));
    await copy.write("src/features.ts", withoutFeatures(list, folders));
    // Type-checks what no suite imports, too.
    const modules = sources.filter((path) =>
      /^(src\/|packages\/\w+\/mod\.)/.test(path) &&
      /(?<!_test)\.tsx?$/.test(path)
    );
    await copy.write(
      "tests/whole_test.ts",
      modules.map((path, at) => `import type * as m${at} from "../${path}";\n`)
        .join("") +
        `export type All = [${
          modules.map((_, at) => `typeof m${at}`).join(", ")
        }];\n`,
    );
    const { success, output } = await copy.test();
    assert.ok(success, output.slice(-4000));
  });
}

Deno.test(`others still import ${BOUND.join(", ")}, which cannot be deleted yet`, async () => {
  const arrows = await Deno.readTextFile(
    new URL("tests/arrows_up.txt", ROOT),
  );
  const bound = arrows.matchAll(/-> src\/features\/(\w+)\//g)
    .map(([, name]) => name);
  assert.deepEqual([...new Set(bound)].sort(), BOUND);
});
