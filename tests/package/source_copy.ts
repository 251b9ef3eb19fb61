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

const WHOLE = "tests/whole_test.ts";

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

  /**
   * Writes a suite of other suites, which imports the types of all modules, also
   * of those that no suite imports.
   */
  async writeWhole(
    sources: readonly string[],
    suites: readonly string[],
  ): Promise<void> {
    const modules = sources.filter((path) =>
      /^(src\/|packages\/\w+\/mod\.)/.test(path) &&
      /(?<!_test)\.tsx?$/.test(path)
    );
    const types = modules.map((_, at) => `typeof m${at}`).join(", ");
    const lines = [
      ...suites.map((path) => `import "../${path}";\n`),
      ...modules.map((path, at) =>
        `import type * as m${at} from "../${path}";\n`
      ),
      `export type All = [${types}];\n`,
    ];
    await this.write(WHOLE, lines.join(""));
  }

  /** Lists the files that are not there though others import them or their types. */
  async missing(): Promise<string[]> {
    const { success, output } = await this.#deno("info", "--json");
    if (!success) throw new Error(output);
    const { modules } = JSON.parse(output);
    return (modules as { specifier: string; error?: string }[])
      .filter(({ error }) => error).map(({ specifier }) => specifier);
  }

  /** Runs the suites, type-checked with everything unless a flag forbids it. */
  test(...flags: string[]): Promise<{ success: boolean; output: string }> {
    return this.#deno("test", "--cached-only", "--allow-all", ...flags);
  }

  async #deno(
    ...args: string[]
  ): Promise<{ success: boolean; output: string }> {
    const { success, stdout, stderr } = await new Deno.Command(
      Deno.execPath(),
      {
        args: [...args, "--quiet", "--config", "tests/deno.json", WHOLE],
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
