/**
 * Mutants as text in the file and `deno test` from the start: slow, and it
 * notices what is not released.
 *
 * @module
 */
import { applyMutant, type Mutant } from "./mutants.ts";
import { type Verdict, Workplace } from "./workplace.ts";

/** Beyond what the same tests took when nothing was broken. */
const PATIENCE_SECONDS = 30;

/** A copy of the project in which one mutant is at a time. */
export class RealTests implements AsyncDisposable {
  /** By the paths of the tests. */
  readonly #deadlines = new Map<string, number>();

  private constructor(private readonly workplace: Workplace) {}

  static async create(): Promise<RealTests> {
    return new RealTests(await Workplace.create());
  }

  /** Until a group of tests notices the mutant. */
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
