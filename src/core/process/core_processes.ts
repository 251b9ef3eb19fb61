/**
 * The processes of one command, all on one port. Their output is forwarded in
 * whole lines, so that lines of two processes do not mix.
 * @module
 */
import { pause, SAME_SIGNAL_MILLISECONDS, within } from "../clock.ts";
import type { Logger } from "../log/log.ts";
import type { Properties } from "../log/log_line.ts";
import { STOP_MILLISECONDS, WITH_PARENT } from "./signals.ts";
import { LineQueue } from "../log/line_queue.ts";
import { printDropped } from "../log/standard_output.ts";

/**
 * The time after which a process has started for good. If processes end sooner,
 * the pause before the next start grows.
 */
const STEADY_MILLISECONDS = 5000;
const FIRST_PAUSE_MILLISECONDS = 100;
const MAX_PAUSE_MILLISECONDS = 10_000;
const CHECK_MILLISECONDS = 20;
/** The maximum time for forwarding the last lines. They may have no reader. */
const LAST_LINES_MILLISECONDS = 500;
/** The time that a process has to end by itself. */
const KILL_MILLISECONDS = STOP_MILLISECONDS + 3000;

interface CoresOptions {
  command: readonly string[];
  processes: number;
  hostname: string;
  port: number;
  log: Logger;
  /** The maximum pause before a process is started again; 10 s by default. */
  longestPauseMilliseconds?: number;
  /** The time between a signal and SIGKILL; 14.5 s by default. */
  killMilliseconds?: number;
}

/** The end of one process, or of the attempt to start it, for the log. */
interface Ended {
  message: string;
  properties: Properties;
  code: number;
  signal?: Deno.Signal | null;
}

/** The processes of one command. A process that ends is started again. */
export class CoreProcesses {
  readonly #longestPauseMilliseconds: number;
  readonly #children = new Set<Deno.ChildProcess>();
  readonly #pauses = new Set<ReturnType<typeof setTimeout>>();
  readonly #over = Promise.withResolvers<number>();
  /**
   * False until a process listens. Until then, the end of the first process is
   * seen as a mistake in settings.
   */
  #hasListened = false;
  #stopSignal?: Deno.Signal;
  #stoppingSinceMilliseconds = 0;
  #killing?: ReturnType<typeof setTimeout>;
  #hasFailed = false;

  constructor(private readonly options: CoresOptions) {
    this.#longestPauseMilliseconds = options.longestPauseMilliseconds ??
      MAX_PAUSE_MILLISECONDS;
  }

  /**
   * Runs until a signal, or until the first process ends before it listens.
   * Resolves to the exit code.
   */
  async run(): Promise<number> {
    // First only one process: it reports mistakes in the settings once, and
    // makes the database that the others use.
    this.#start();
    await this.#listening();
    if (this.#stopSignal === undefined && this.#children.size > 0) {
      this.#hasListened = true;
      for (let n = 1; n < this.options.processes; n++) this.#start();
    }
    const code = await this.#over.promise;
    clearTimeout(this.#killing);
    return code;
  }

  /**
   * Forwards a signal to the processes, and restarts none. Kills those that do
   * not end in time; a second signal shortens that time. SIGHUP never counts as
   * a second signal.
   */
  stop(signal: Deno.Signal): void {
    let killMilliseconds = this.options.killMilliseconds ?? KILL_MILLISECONDS;
    const time = performance.now();
    if (this.#stopSignal === undefined) {
      this.#stopSignal = signal;
      this.#stoppingSinceMilliseconds = time;
    } else {
      const since = time - this.#stoppingSinceMilliseconds;
      if (signal === "SIGHUP" || since < SAME_SIGNAL_MILLISECONDS) return;
      // A third signal changes nothing.
      this.#stoppingSinceMilliseconds = Infinity;
      killMilliseconds = LAST_LINES_MILLISECONDS;
    }
    for (const timer of this.#pauses) clearTimeout(timer);
    this.#send(signal);
    if (this.#children.size === 0) return this.#over.resolve(0);
    clearTimeout(this.#killing);
    this.#killing = setTimeout(() => {
      this.options.log.error("Killing processes that do not end", {
        pids: [...this.#children].map(({ pid }) => pid),
      });
      this.#send("SIGKILL");
    }, killMilliseconds);
  }

  #send(signal: Deno.Signal): void {
    for (const child of this.#children) {
      // The process may have ended just now.
      try {
        child.kill(signal);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
  }

  /**
   * @param pauseMilliseconds the pause before the next start, if the process
   * ends soon
   */
  async #start(pauseMilliseconds = FIRST_PAUSE_MILLISECONDS): Promise<void> {
    const startedMilliseconds = performance.now();
    const { message, properties, code, signal } = await this.#runOnce();
    const isLast = this.#children.size === 0;
    if (this.#stopSignal !== undefined) {
      // A process that is still starting has no signal handler yet, so the
      // signal ends it.
      this.#hasFailed ||= code !== 0 && signal !== this.#stopSignal;
      if (isLast) this.#over.resolve(this.#hasFailed ? 1 : 0);
      return;
    }
    const isSteady =
      performance.now() - startedMilliseconds >= STEADY_MILLISECONDS;
    // Ends only if no process has listened yet. After that, a process may have
    // ended for a temporary reason, such as a full disk.
    if (isLast && !this.#hasListened) {
      // If the process ran, it has logged the reason itself.
      if ("error" in properties) {
        this.options.log.error("No process can be started", properties);
      }
      return this.#over.resolve(code || 1);
    }
    this.options.log.error(message, properties);
    this.#startLater(isSteady ? FIRST_PAUSE_MILLISECONDS : pauseMilliseconds);
  }

  /** Starts a process, and waits for its end. */
  async #runOnce(): Promise<Ended> {
    const [program, ...args] = this.options.command;
    let child;
    try {
      child = new Deno.Command(program, {
        args: [...args, `${WITH_PARENT}=${Deno.pid}`],
        env: { REUSE_PORT: "true", ...telemetryVariables() },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
    } catch (error) {
      // The program's file is perhaps being replaced, or there are too many
      // processes.
      const message = "A process could not be started, which is tried again";
      return { message, properties: { program, error }, code: 1 };
    }
    this.#children.add(child);
    const printed = Promise.all([
      passOn(child.stdout, stdout),
      passOn(child.stderr, stderr),
    ]);
    const { code, signal } = await child.status;
    await within(LAST_LINES_MILLISECONDS, printed);
    this.#children.delete(child);
    const message = "A process ended and is started again";
    const properties = { pid: child.pid, code, signal };
    return { message, properties, code, signal };
  }

  #startLater(milliseconds: number): void {
    const timer = setTimeout(() => {
      this.#pauses.delete(timer);
      this.#start(Math.min(2 * milliseconds, this.#longestPauseMilliseconds));
    }, milliseconds);
    this.#pauses.add(timer);
  }

  /** Resolves when connections are accepted, or no process is left. */
  async #listening(): Promise<void> {
    const { hostname, port } = this.options;
    while (this.#children.size > 0) {
      try {
        (await Deno.connect({ hostname, port })).close();
        return;
      } catch (error) {
        if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      }
      await pause(CHECK_MILLISECONDS);
    }
  }
}

/**
 * Returns Deno's variables for telemetry, with defaults for unset ones. Each
 * process gets its own attribute, so that metrics of two processes do not mix.
 * docs/telemetry.md has the reasons for the other variables.
 */
function telemetryVariables(): Record<string, string> {
  const given = Deno.env.get("OTEL_RESOURCE_ATTRIBUTES");
  const own = `service.instance.id=${crypto.randomUUID()}`;
  return {
    OTEL_RESOURCE_ATTRIBUTES: given ? `${given},${own}` : own,
    OTEL_PROPAGATORS: Deno.env.get("OTEL_PROPAGATORS") || "tracecontext",
    OTEL_EXPORTER_OTLP_TIMEOUT: Deno.env.get("OTEL_EXPORTER_OTLP_TIMEOUT") ||
      "1000",
  };
}

/** The maximum length of a line. Longer lines are forwarded in parts. */
const MAX_LINE = 64 * 1024;

export const stdout = new LineQueue(
  (bytes) => Deno.stdout.write(bytes),
  printDropped,
);
export const stderr = new LineQueue(
  (bytes) => Deno.stderr.write(bytes),
  printDropped,
);

/** Forwards the output of a process in whole lines. */
async function passOn(
  from: ReadableStream<Uint8Array<ArrayBuffer>>,
  to: LineQueue,
): Promise<void> {
  let rest = "";
  for await (const chunk of from.pipeThrough(new TextDecoderStream())) {
    const text = rest + chunk;
    const end = text.lastIndexOf("\n");
    if (end >= 0) to.push(text.slice(0, end));
    rest = text.slice(end + 1);
    if (rest.length > MAX_LINE) {
      to.push(rest);
      rest = "";
    }
  }
  if (rest !== "") to.push(rest);
}
