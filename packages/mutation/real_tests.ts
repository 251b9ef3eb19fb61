/**
 * Mutants as text in the file, with a `deno test` for each: slow, but it
 * notices missing releases.
 *
 * @module
 */
import { applyMutant, type Mutant } from "./mutants.ts";
import { type Verdict, Workplace } from "./workplace.ts";

/** The time beyond that of the same tests with nothing broken, in seconds. */
const PATIENCE_SECONDS = 30;

/** A copy of the project with one mutant at a time. */
export class RealTests implements AsyncDisposable {
  /** Deadlines by the paths of the tests. */
  readonly #deadlines = new Map<string, number>();

  private constructor(private readonly workplace: Workplace) {}

  static async create(): Promise<RealTests> {
    return new RealTests(await Workplace.create());
  }

  /** Runs groups of tests until one notices the mutant. */
  async try(
    mutant: Mutant,
    groups: readonly (readonly string[])[],
  ): Promise<Verdict> {
    for (const paths of groups) {
      const deadline = await this.#deadline(paths);
      const source = await this.workplace.read(mutant.path);
      await this.workplace.write(mutant.path, applyMutant(source, mutant));
      const verdict = await this.workplace.test(paths, deadline)
        .finally(() => this.workplace.write(mutant.path, source));
      if (verdict !== "passed") return verdict;
    }
    return "passed";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.workplace[Symbol.asyncDispose]();
  }

  async #deadline(paths: readonly string[]): Promise<number> {
    const name = paths.join(" ");
    const known = this.#deadlines.get(name);
    if (known !== undefined) return known;
    const start = performance.now();
    const verdict = await this.workplace.test(paths, 600);
    if (verdict !== "passed") {
      throw new Error(`${name} ${verdict} with nothing broken`);
    }
    const seconds = (performance.now() - start) / 1000;
    const deadline = 3 * seconds + PATIENCE_SECONDS;
    this.#deadlines.set(name, deadline);
    return deadline;
  }
}
