/**
 * A copy of the project in which rules are broken, so that the real files stay
 * untouched, and its tests.
 *
 * @module
 */
import { applyMutant, type Mutant } from "./mutants.ts";

/** The end of a run of tests. */
export type Verdict = "passed" | "failed" | "hung";

/** A copy of all files that git knows, and of new ones. */
export class Workplace implements AsyncDisposable {
  protected constructor(readonly root: string) {}

  static async create(): Promise<Workplace> {
    return new Workplace(await Workplace.copy());
  }

  protected static async copy(): Promise<string> {
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
    return root;
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

/** The time beyond that of the same tests with nothing broken, in seconds. */
const PATIENCE_SECONDS = 30;

/**
 * A copy of the project with one mutant at a time as text in its file, and a
 * `deno test` for each: slow, but it notices missing releases.
 */
export class RealTests extends Workplace {
  /** Deadlines by the paths of the tests. */
  readonly #deadlines = new Map<string, number>();

  static override async create(): Promise<RealTests> {
    return new RealTests(await Workplace.copy());
  }

  /** Runs groups of tests until one notices the mutant. */
  async try(
    mutant: Mutant,
    groups: readonly (readonly string[])[],
  ): Promise<Verdict> {
    for (const paths of groups) {
      const deadline = await this.#deadline(paths);
      const source = await this.read(mutant.path);
      await this.write(mutant.path, applyMutant(source, mutant));
      const verdict = await this.test(paths, deadline)
        .finally(() => this.write(mutant.path, source));
      if (verdict !== "passed") return verdict;
    }
    return "passed";
  }

  async #deadline(paths: readonly string[]): Promise<number> {
    const name = paths.join(" ");
    const known = this.#deadlines.get(name);
    if (known !== undefined) return known;
    const start = performance.now();
    const verdict = await this.test(paths, 600);
    if (verdict !== "passed") {
      throw new Error(`${name} ${verdict} with nothing broken`);
    }
    const seconds = (performance.now() - start) / 1000;
    const deadline = 3 * seconds + PATIENCE_SECONDS;
    this.#deadlines.set(name, deadline);
    return deadline;
  }
}
