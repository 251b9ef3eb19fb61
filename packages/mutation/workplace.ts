/**
 * A copy of the project in which rules are broken, so that the real files stay
 * untouched.
 *
 * @module
 */

/** The end of a run of tests. */
export type Verdict = "passed" | "failed" | "hung";

/** A copy of all files that git knows, and of new ones. */
export class Workplace implements AsyncDisposable {
  private constructor(readonly root: string) {}

  static async create(): Promise<Workplace> {
    const root = await Deno.makeTempDir({ prefix: "mutants-" });
    const { stdout } = await new Deno.Command("git", {
      args: ["ls-files", "-co", "--exclude-standard", "-z"],
    }).output();
    const paths = new TextDecoder().decode(stdout).split("\0").filter(Boolean);
    for (const path of paths) {
      const target = `${root}/${path}`;
      await Deno.mkdir(target.replace(/[^/]*$/, ""), { recursive: true });
      // A file that is deleted but not yet committed is still listed.
      await Deno.copyFile(path, target).catch(() => {});
    }
    return new Workplace(root);
  }

  read(path: string): Promise<string> {
    return Deno.readTextFile(`${this.root}/${path}`);
  }

  write(path: string, text: string): Promise<void> {
    return Deno.writeTextFile(`${this.root}/${path}`, text);
  }

  /** Runs tests until one fails, or the time is over. */
  async test(
    paths: readonly string[],
    deadlineSeconds: number,
  ): Promise<Verdict> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "--config",
        "tests/deno.json",
        "--allow-all",
        "--no-check",
        "--quiet",
        "--fail-fast",
        "--sanitize-ops",
        "--sanitize-resources",
        ...paths,
      ],
      cwd: this.root,
      env: { NO_COLOR: "1" },
      stdout: "null",
      stderr: "null",
    }).spawn();
    let hung = false;
    const timer = setTimeout(() => {
      hung = true;
      child.kill("SIGKILL");
    }, deadlineSeconds * 1000);
    const { success } = await child.status;
    clearTimeout(timer);
    return hung ? "hung" : success ? "passed" : "failed";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

export async function* filesBelow(path: string): AsyncGenerator<string> {
  const { isFile } = await Deno.stat(path);
  if (isFile) {
    yield path;
    return;
  }
  const entries = await Array.fromAsync(Deno.readDir(path));
  for (const { name } of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
    yield* filesBelow(`${path}/${name}`);
  }
}
