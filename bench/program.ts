/**
 * A program with all the processes that it has started: what they use.
 *
 * @module
 */
import { scheduledSeconds } from "./process.ts";

const ROOT = new URL("..", import.meta.url).pathname;

/** The processor time and the memory of a process and its descendants. */
export class Usage {
  constructor(readonly pid: number) {}

  /** Gives the processor time so far, in milliseconds. */
  cpuMilliseconds(): number {
    return this.#sum(scheduledSeconds) * 1000;
  }

  /** Gives the resident memory, in MiB; what several share counts once. */
  residentMebibytes(): number {
    return this.#sum(proportionalKibibytes) / 1024;
  }

  #sum(of: (pid: number) => number): number {
    return processes(this.pid).reduce((sum, pid) => {
      try {
        return sum + of(pid);
      } catch (error) {
        // It has ended meanwhile.
        if (error instanceof Deno.errors.NotFound) return sum;
        throw error;
      }
    }, 0);
  }
}

function proportionalKibibytes(pid: number): number {
  const rollup = Deno.readTextFileSync(`/proc/${pid}/smaps_rollup`);
  return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0);
}

/** Lists a process and its descendants. */
function processes(pid: number): number[] {
  const { stdout } = new Deno.Command("pgrep", { args: ["-P", `${pid}`] })
    .outputSync();
  const children = new TextDecoder().decode(stdout).split("\n").filter(Boolean);
  return [pid, ...children.flatMap((child) => processes(Number(child)))];
}

/** A program that ends with the measurement. */
export class Program implements AsyncDisposable {
  readonly usage: Usage;
  readonly #child: Deno.ChildProcess;

  constructor(
    program: string,
    args: readonly string[],
    env: Record<string, string>,
  ) {
    this.#child = new Deno.Command(program, {
      args: [...args],
      cwd: ROOT,
      env,
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    this.usage = new Usage(this.#child.pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
  }
}
