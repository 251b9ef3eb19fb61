/**
 * Files of tests in one process, with the mutants that each test reaches.
 *
 * @module
 */
import { NO_MUTANT, type Run, TestProcess } from "./test_process.ts";
import type { Verdict } from "./workplace.ts";

const MAX_SECONDS = 120;

/** A test that passes while nothing is broken. */
interface Test {
  at: number;
  name: string;
  seconds: number;
  reached: ReadonlySet<number>;
}

/** A suite. Its process is started when it is needed; `end()` ends it. */
export class Suite {
  readonly tests: Test[] = [];
  /** Tests that fail here although nothing is broken. */
  readonly leftOut: string[] = [];
  /** Mutants that are reached while the files are loaded. */
  loading: ReadonlySet<number> = new Set();
  #process: TestProcess | undefined;

  private constructor(
    private readonly root: string,
    readonly paths: readonly string[],
  ) {}

  /** Runs every test with nothing broken. */
  static async measure(root: string, paths: readonly string[]): Promise<Suite> {
    const suite = new Suite(root, paths);
    const { loaded } = await suite.#started();
    if (!loaded) {
      suite.leftOut.push(...paths);
      return suite;
    }
    suite.loading = new Set(loaded.reached);
    for (const [at, name] of loaded.tests.entries()) {
      const run = await suite.#run(at, NO_MUTANT, MAX_SECONDS);
      const { verdict, reached, seconds } = run;
      if (verdict !== "passed") suite.leftOut.push(`${paths[0]}: ${name}`);
      else suite.tests.push({ at, name, seconds, reached: new Set(reached) });
    }
    return suite;
  }

  get seconds(): number {
    return this.tests.reduce((sum, { seconds }) => sum + seconds, 0);
  }

  reaches(mutant: number): boolean {
    return this.loading.has(mutant) ||
      this.tests.some(({ reached }) => reached.has(mutant));
  }

  /**
   * Runs the tests that reach a mutant, cheapest first; gives their verdict,
   * and if all of them reached it again: code that runs once in a process is
   * not reached again.
   *
   * @param most the most tests to run
   */
  async try(
    mutant: number,
    most = Infinity,
  ): Promise<{ verdict: Verdict; isSure: boolean }> {
    let isSure = true;
    const tests = this.tests.filter(({ reached }) => reached.has(mutant))
      .sort((a, b) => a.seconds - b.seconds)
      .slice(0, most);
    for (const test of tests) {
      const { verdict, reached } = await this.#ask(test, mutant);
      if (verdict !== "passed") return { verdict, isSure };
      if (reached.length === 0) isSure = false;
    }
    return { verdict: "passed", isSure };
  }

  /** Runs all tests with a mutant that is on while the files are loaded. */
  async tryFromStart(mutant: number): Promise<Verdict> {
    const process = await TestProcess.start(this.root, this.paths, mutant);
    try {
      if (!process.loaded) return "failed";
      const names = process.loaded.tests;
      for (const test of this.tests) {
        const { at, name } = test;
        const place = names[at] === name ? at : names.indexOf(name);
        if (place < 0) continue;
        const run = await process.run(place, mutant, patience(test));
        if (run.verdict !== "passed") return run.verdict;
      }
      return "passed";
    } finally {
      await process.end();
    }
  }

  async end(): Promise<void> {
    await this.#process?.end();
    this.#process = undefined;
  }

  /**
   * Runs a test. A failure counts if the test passes without the mutant in the
   * same process, because an earlier mutant may have left something behind. One
   * that seems to hang runs again with more patience.
   */
  async #ask(test: Test, mutant: number): Promise<Run> {
    const { at } = test;
    const run = await this.#run(at, mutant, patience(test, 1));
    if (run.verdict === "passed") return run;
    const deadline = patience(test);
    const isClean = async () =>
      (await this.#run(at, NO_MUTANT, deadline)).verdict === "passed";
    if (this.#process?.loaded && await isClean()) return run;
    await this.end();
    // It may depend on an earlier test: then it proves nothing.
    if (!await isClean()) return { ...run, verdict: "passed" };
    return await this.#run(at, mutant, deadline);
  }

  async #run(test: number, mutant: number, deadline: number): Promise<Run> {
    return await (await this.#started()).run(test, mutant, deadline);
  }

  async #started(): Promise<TestProcess> {
    if (!this.#process?.loaded) {
      this.#process = await TestProcess.start(this.root, this.paths);
    }
    return this.#process;
  }
}

/** Computes the time after which a test counts as hanging. */
function patience({ seconds }: Test, more = 3): number {
  return 5 * seconds + more;
}
