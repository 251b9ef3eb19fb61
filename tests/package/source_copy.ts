/**
 * Copies of the sources, with a feature less or more.
 *
 * @module
 */
export const ROOT = new URL("../../", import.meta.url);

const CONFIGURATION = [
  "deno.json",
  "deno.lock",
  "tests/deno.json",
  "tests/deno.lock",
];

/** A copy of the sources in a folder of its own. */
export class SourceCopy implements AsyncDisposable {
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
    await Deno.mkdir(new URL("./", new URL(path, this.root)), {
      recursive: true,
    });
    await Deno.writeTextFile(new URL(path, this.root), text);
  }

  /** Copies files of the sources, and what runs them. */
  async take(paths: readonly string[]): Promise<void> {
    for (const path of [...paths, ...CONFIGURATION]) {
      const place = new URL(path, this.root);
      await Deno.mkdir(new URL("./", place), { recursive: true });
      await Deno.copyFile(new URL(path, ROOT), place);
    }
  }

  /** Runs suites, type-checked with everything that they import. */
  async test(
    suites: readonly string[],
  ): Promise<{ success: boolean; output: string }> {
    const { success, stdout, stderr } = await new Deno.Command(
      Deno.execPath(),
      {
        args: [
          ...["test", "--quiet", "--cached-only", "--allow-all"],
          ...["--config", "tests/deno.json", "tests/whole_test.ts", ...suites],
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

/** Prints a suite whose types are those of all modules, also of what no suite imports. */
export function wholeTest(sources: readonly string[]): string {
  const modules = sources.filter((path) =>
    /^(src\/|packages\/\w+\/mod\.)/.test(path) &&
    /(?<!_test)\.tsx?$/.test(path)
  );
  const types = modules.map((_, at) => `typeof m${at}`).join(", ");
  return modules.map((path, at) =>
    `import type * as m${at} from "../${path}";\n`
  )
    .join("") + `export type All = [${types}];\n`;
}
