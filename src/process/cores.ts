/**
 * A server process for each core, all on one port:
 *
 * ```sh
 * deno task start:cores                # as many as there are cores
 * PROCESSES=4 deno task start:cores
 * ```
 *
 * Linux hands each connection to one of the processes. Everything else they
 * share is in the database, as always. The arguments are the command to run
 * that many times. Its output is passed on in whole lines. `REUSE_PORT` tells
 * each process to share the port, and `--with-parent` to end with this process.
 *
 * @module
 */
import { Log, type Logger } from "../log.ts";
import { standardOutput } from "../standard_output.ts";
import { WITH_PARENT } from "./parent.ts";

/**
 * Longer than a start takes: a process that ends sooner will probably do so
 * again.
 */
const STEADY_MILLISECONDS = 5000;
const FIRST_PAUSE_MILLISECONDS = 100;
const LONGEST_PAUSE_MILLISECONDS = 10_000;
const LOOK_MILLISECONDS = 20;
const NEWLINE = 0x0a;

/** The command, and the number of processes. */
interface CoresOptions {
  command: readonly string[];
  processes: number;
  hostname: string;
  port: number;
  log: Logger;
}

/** The processes of one command. A process that ends is started again. */
class Cores {
  readonly #options: CoresOptions;
  readonly #children = new Set<Deno.ChildProcess>();
  readonly #pauses = new Set<ReturnType<typeof setTimeout>>();
  readonly #over = Promise.withResolvers<number>();
  #isStopping = false;
  #hasFailed = false;

  constructor(options: CoresOptions) {
    this.#options = options;
  }

  /**
   * Runs until a signal, or until no process can be kept alive; gives the exit
   * code.
   */
  async run(): Promise<number> {
    // The first process alone: it reports mistakes in the settings once, and
    // makes the database that the others find.
    this.#start();
    await this.#listening();
    if (!this.#isStopping && this.#children.size > 0) {
      for (let n = 1; n < this.#options.processes; n++) this.#start();
    }
    return await this.#over.promise;
  }

  /** Passes a signal on, and waits for all processes; none is started again. */
  stop(signal: Deno.Signal): void {
    this.#isStopping = true;
    for (const pause of this.#pauses) clearTimeout(pause);
    for (const child of this.#children) {
      // The process may have ended just now.
      try {
        child.kill(signal);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
    if (this.#children.size === 0) this.#over.resolve(0);
  }

  #start(pauseMilliseconds = FIRST_PAUSE_MILLISECONDS): void {
    const [program, ...args] = this.#options.command;
    const startedMilliseconds = Date.now();
    const child = new Deno.Command(program, {
      args: [...args, WITH_PARENT],
      env: { REUSE_PORT: "true", OTEL_RESOURCE_ATTRIBUTES: ofOneProcess() },
      // Nothing is written to it: the child ends when this pipe closes.
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#children.add(child);
    Promise.all([
      child.status,
      passOn(child.stdout, Deno.stdout),
      passOn(child.stderr, Deno.stderr),
    ]).then(([{ code, signal }]) => {
      this.#children.delete(child);
      child.stdin.close().catch(() => {});
      const isSteady = Date.now() - startedMilliseconds >= STEADY_MILLISECONDS;
      if (this.#isStopping) {
        this.#hasFailed ||= code !== 0;
        if (this.#children.size === 0) {
          this.#over.resolve(this.#hasFailed ? 1 : 0);
        }
        return;
      }
      if (!isSteady && this.#children.size === 0) {
        return this.#over.resolve(code || 1);
      }
      this.#options.log.error("A process ended and is started again", {
        pid: child.pid,
        code,
        signal,
      });
      this.#startLater(isSteady ? FIRST_PAUSE_MILLISECONDS : pauseMilliseconds);
    });
  }

  #startLater(milliseconds: number): void {
    const pause = setTimeout(() => {
      this.#pauses.delete(pause);
      this.#start(Math.min(2 * milliseconds, LONGEST_PAUSE_MILLISECONDS));
    }, milliseconds);
    this.#pauses.add(pause);
  }

  /** Resolves when connections are accepted, or no process is left. */
  async #listening(): Promise<void> {
    const { hostname, port } = this.#options;
    while (this.#children.size > 0) {
      try {
        (await Deno.connect({ hostname, port })).close();
        return;
      } catch (error) {
        if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
    }
  }
}

/**
 * Adds an id to the attributes of metrics, which must differ between processes.
 */
function ofOneProcess(): string {
  const given = Deno.env.get("OTEL_RESOURCE_ATTRIBUTES");
  const own = `service.instance.id=${crypto.randomUUID()}`;
  return given ? `${given},${own}` : own;
}

/** Writes whole lines, so that the lines of several processes do not mix. */
async function passOn(
  from: ReadableStream<Uint8Array>,
  to: { writeSync(bytes: Uint8Array): number },
): Promise<void> {
  let rest = new Uint8Array();
  for await (const chunk of from) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      write(to, rest);
      write(to, chunk.subarray(0, end));
      rest = new Uint8Array();
    }
    const longer = new Uint8Array(rest.length + chunk.length - end);
    longer.set(rest);
    longer.set(chunk.subarray(end), rest.length);
    rest = longer;
  }
  write(to, rest);
}

function write(
  to: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
): void {
  try {
    while (bytes.length > 0) bytes = bytes.subarray(to.writeSync(bytes));
  } catch (error) {
    // The output is no longer read, but the servers go on.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

/** Ends the process with one line that says what to do. */
function refuse(message: string): never {
  console.error(message);
  Deno.exit(1);
}

/** Reads a whole number from a variable. */
function readNumber(variable: string, usual: number): number {
  const text = Deno.env.get(variable)?.trim() || String(usual);
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  refuse(`${variable}: got ${JSON.stringify(text)}, wants a number above 0.`);
}

async function main(command: readonly string[]): Promise<never> {
  if (command.length === 0) refuse("Usage: cores deno run … main.ts");
  if (Deno.build.os !== "linux") {
    refuse(
      "Only Linux spreads the connections of one port over processes. Use a " +
        "process for each port, with a proxy in front.",
    );
  }
  const hostname = Deno.env.get("HOST")?.trim() || "127.0.0.1";
  const port = readNumber("PORT", 3000);
  const processes = readNumber("PROCESSES", navigator.hardwareConcurrency);
  try {
    // Another service that shares its port would get half of the requests.
    Deno.listen({ hostname, port }).close();
  } catch (error) {
    refuse(`PORT: ${port} on ${hostname}: ${(error as Error).message}`);
  }
  const log = new Log("info", standardOutput(false));
  const cores = new Cores({
    command,
    processes,
    hostname,
    port,
    log: log.logger("cores"),
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => cores.stop(signal));
  }
  const code = await cores.run();
  await log.flush();
  Deno.exit(code);
}

if (import.meta.main) await main(Deno.args);
