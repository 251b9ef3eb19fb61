/**
 * Tries mutants on the tests that reach them, nearest tests first.
 *
 * @module
 */
import { Suite } from "./suite.ts";
import type { Numbered } from "./switches.ts";
import type { Verdict } from "./workplace.ts";

/** The most seconds of a file that runs again for each constant mutant. */
const MAX_CHEAP_SECONDS = 10;

/**
 * The most tests of a file that is neither a source's own nor in its folder:
 * mutants that all of them reach are mostly noticed by the first.
 */
const MAX_FAR_TESTS = 3;

interface HuntOptions {
  /** A tree whose sources have switches. */
  root: string;
  testFiles: readonly string[];
  mutants: readonly Numbered[];
  jobs: number;
  /** True to run only the tests of the file and of its folder. */
  isNearOnly: boolean;
  /** Called with each mutant that a test notices. */
  noticed: (mutant: Numbered, verdict: Verdict) => Promise<void>;
}

/** Mutants that no test has noticed yet, with the facts about the tests. */
export class Hunt {
  readonly alive: Map<number, Numbered>;
  readonly #suites = new Map<string, Suite>();
  /** Mutants that are reached only while something is loaded or made once. */
  readonly #constant = new Set<number>();

  constructor(private readonly options: HuntOptions) {
    this.alive = new Map(options.mutants.map((one) => [one.id, one]));
  }

  async run(): Promise<void> {
    const ranks = this.options.isNearOnly ? 2 : DISTANCES.length;
    for (let rank = 0; rank < ranks; rank++) {
      await this.#pass(rank);
      console.log(`${this.alive.size} left by ${DISTANCES[rank]}`);
    }
    for (const group of [0, 1]) await this.#passConstant(group);
    console.log(`${this.alive.size} left when there from the start`);
  }

  reaching(mutant: Numbered): string[] {
    return this.options.testFiles.filter((path) =>
      this.#suites.get(path)?.reaches(mutant.id)
    );
  }

  get leftOut(): string[] {
    return [...this.#suites.values()].flatMap(({ leftOut }) => leftOut);
  }

  /** Runs the files of tests at this distance, cheapest first. */
  async #pass(rank: number): Promise<void> {
    const sources = new Set([...this.alive.values()].map(({ path }) => path));
    const wanted = this.options.testFiles.filter((test) =>
      [...sources].some((path) => rankOf(path, test) === rank)
    );
    const suites: Suite[] = [];
    await inTurns(wanted, this.options.jobs, async (path) => {
      const suite = await this.#suiteOf(path, [path]);
      await suite.end();
      suites.push(suite);
    });
    suites.sort((a, b) => a.seconds - b.seconds);
    await inTurns(suites, this.options.jobs, async (suite) => {
      await this.#tryAll(suite, suite.paths[0], rank);
      await suite.end();
    });
  }

  async #tryAll(suite: Suite, path: string, rank: number): Promise<void> {
    for (const mutant of [...this.alive.values()]) {
      const isWanted = this.alive.has(mutant.id) && suite.reaches(mutant.id) &&
        rankOf(mutant.path, path) === rank;
      if (!isWanted) continue;
      const most = rank < 2 ? Infinity : MAX_FAR_TESTS;
      const { verdict, isSure } = await suite.try(mutant.id, most);
      if (!isSure || suite.loading.has(mutant.id)) {
        this.#constant.add(mutant.id);
      }
      await this.#settle(mutant, verdict);
    }
  }

  /** Starts a process for each mutant, which is switched on from the start. */
  async #passConstant(group: number): Promise<void> {
    const waiting = [...this.alive.values()]
      .filter(({ id }) => this.#constant.has(id));
    const measured = new Map<string, Promise<Suite>>();
    await inTurns(waiting, this.options.jobs, async (mutant) => {
      for (const place of nearestTests(mutant.path, () => true)[group]) {
        const paths = this.options.testFiles.filter((path) =>
          path.startsWith(place) && (group === 0 || this.#isCheap(path))
        );
        if (paths.length === 0) continue;
        const name = `${place} together`;
        if (!measured.has(name)) measured.set(name, this.#suiteOf(name, paths));
        const suite = await measured.get(name)!;
        await suite.end();
        const verdict = await suite.tryFromStart(mutant.id);
        await this.#settle(mutant, verdict);
        if (verdict !== "passed") break;
      }
    });
  }

  #isCheap(path: string): boolean {
    const suite = this.#suites.get(path);
    return suite !== undefined && suite.seconds < MAX_CHEAP_SECONDS;
  }

  async #settle(mutant: Numbered, verdict: Verdict): Promise<void> {
    if (verdict === "passed" || !this.alive.delete(mutant.id)) return;
    await this.options.noticed(mutant, verdict);
  }

  async #suiteOf(name: string, paths: readonly string[]): Promise<Suite> {
    const known = this.#suites.get(name);
    if (known) return known;
    const suite = await Suite.measure(this.options.root, paths);
    this.#suites.set(name, suite);
    return suite;
  }
}

/** Runs all, several at a time. */
export async function inTurns<T>(
  all: readonly T[],
  jobs: number,
  act: (one: T, job: number) => Promise<void>,
): Promise<void> {
  const waiting = [...all];
  await Promise.all(
    Array.from({ length: jobs }, async (_, job) => {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        await act(one, job);
      }
    }),
  );
}

/** Further folders with tests that use a folder's rules, below `tests/`. */
const WIDER: Readonly<Record<string, readonly string[]>> = {
  auth: ["attacks", "flow", "core/mcp/endpoint"],
  http: ["core/auth", "core/pages", "attacks"],
  mcp: ["flow", "attacks", "fuzz"],
  kv: ["core/store", "core/auth", "flow", "faults"],
  store: ["core/auth", "core/mcp/endpoint", "flow", "faults", "attacks"],
  pages: ["core/auth", "attacks"],
};

/**
 * Lists groups of paths to test, each run only if those before it noticed
 * nothing: the file's own test, its folder's, then others' unless they are not
 * wanted.
 *
 * @param exists tells if there is such a test or folder of tests
 */
export function nearestTests(
  path: string,
  exists: (path: string) => boolean,
  isNearOnly = false,
): string[][] {
  const inner = path.replace(/^(?:src|packages)\//, "");
  const own = `tests/${inner.replace(/\.tsx?$/, "_test.ts")}`;
  const folders = inner.split("/").slice(0, -1)
    .map((_, at, all) => `tests/${all.slice(0, at + 1).join("/")}/`)
    .slice(path.startsWith("src/") ? 1 : 0)
    .reverse();
  // The promises of every database are tested in one folder.
  if (path.startsWith("packages/postgres/")) folders.push("tests/core/kv/");
  const [, area] = inner.split("/");
  const wider = (WIDER[area] ?? ["attacks", "flow"])
    .map((folder) => `tests/${folder}/`);
  return [[own, `${own}x`], folders, isNearOnly ? [] : wider]
    .map((group) => group.filter(exists))
    .filter((group) => group.length > 0);
}

/** The distances of {@linkcode rankOf}, nearest first. */
const DISTANCES = [
  "the file's own test",
  "its folder's",
  "those that see it work",
  "all others",
];

/** Gives a place in {@linkcode DISTANCES}. */
export function rankOf(path: string, test: string): number {
  const groups = nearestTests(path, () => true);
  const rank = groups.findIndex((group) =>
    group.some((place) => test === place || test.startsWith(place))
  );
  return rank < 0 ? DISTANCES.length - 1 : rank;
}
