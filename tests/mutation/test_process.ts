/**
 * A process with files of tests, from the side that gives it orders, and their
 * messages, one line of JSON each.
 *
 * @module
 */
import type { Verdict } from "./workplace.ts";

/** The beginning of a report; other lines are printed by tests. */
export const MARK = "\u0001";

/** The name of the function that tells if a mutant is switched on. */
export const SWITCH = "__mutant";

/** The mutant of an order that breaks nothing. */
export const NO_MUTANT = -1;

/** The order to run a test, by its place in {@linkcode Loaded.tests}. */
export interface Order {
  test: number;
  mutant: number;
}

/** The report that the files are loaded. */
export interface Loaded {
  tests: string[];
  /** Mutants that were reached while loading. */
  reached: number[];
}

/** The report of a test that ran. */
export interface Ran {
  passed: boolean;
  /** The order's mutant, or none; without a mutant, all that were reached. */
  reached: number[];
}

const LOADING_SECONDS = 120;

/** The verdict of a test, and the mutants it reached. */
export interface Run {
  verdict: Verdict;
  reached: number[];
  seconds: number;
}

/** A process. It ends with a test that hangs, or that ends the process. */
export class TestProcess {
  #reports: AsyncGenerator<string>;
  #orders: WritableStreamDefaultWriter<Uint8Array>;
  /** The contents of the files; undefined if no process runs. */
  loaded: Loaded | undefined;

  private constructor(private readonly child: Deno.ChildProcess) {
    this.#reports = reportsOf(child.stdout);
    this.#orders = child.stdin.getWriter();
  }

  /** Starts a process, with a mutant that is on from the start, or none. */
  static async start(
    root: string,
    paths: readonly string[],
    mutant = NO_MUTANT,
  ): Promise<TestProcess> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-check",
        "--config",
        "tests/deno.json",
        "--allow-all",
        new URL("child.ts", import.meta.url).href,
        String(mutant),
        ...paths,
      ],
      cwd: root,
      env: { NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const process = new TestProcess(child);
    process.loaded = await process.#report<Loaded>(LOADING_SECONDS);
    return process;
  }

  /** Runs a test; `failed` too if the process ends. */
  async run(
    test: number,
    mutant: number,
    deadlineSeconds: number,
  ): Promise<Run> {
    const start = performance.now();
    const order = `${JSON.stringify({ test, mutant })}\n`;
    await this.#orders.write(new TextEncoder().encode(order)).catch(() => {});
    const ran = await this.#report<Ran>(deadlineSeconds);
    const seconds = (performance.now() - start) / 1000;
    if (ran) {
      const verdict = ran.passed ? "passed" : "failed";
      return { verdict, reached: ran.reached, seconds };
    }
    const verdict = seconds < deadlineSeconds ? "failed" : "hung";
    return { verdict, reached: [mutant], seconds };
  }

  async end(): Promise<void> {
    this.loaded = undefined;
    try {
      this.child.kill("SIGKILL");
    } catch {
      // It ended by itself.
    }
    await this.child.status;
    await this.#orders.abort().catch(() => {});
  }

  /** Reads the next report; undefined if the process has ended. */
  async #report<T>(deadlineSeconds: number): Promise<T | undefined> {
    const timer = setTimeout(
      () => this.child.kill("SIGKILL"),
      deadlineSeconds * 1000,
    );
    const { value } = await this.#reports.next();
    clearTimeout(timer);
    if (value === undefined) await this.end();
    return value && JSON.parse(value);
  }
}

async function* reportsOf(
  stdout: ReadableStream<Uint8Array>,
): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith(MARK)) yield line.slice(MARK.length);
    }
  }
}
