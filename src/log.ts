/**
 * The log of a server. Each server has its own: what it says, from which level
 * on, and where that goes. Arguments, bodies, tokens, codes and states are
 * never logged.
 *
 * @module
 */
import type { LogEvent, Properties, Severity } from "./log_line.ts";
import { telemetry } from "./telemetry.ts";

export type { LogEvent, Properties, Severity } from "./log_line.ts";

/** `LOG_LEVEL`, least to most severe; `off` silences the log. */
export const LOG_LEVELS = [
  "debug",
  "info",
  "warning",
  "error",
  "off",
] as const satisfies LogLevel[];

/** The events that are written: those of a level and above; `off`: none. */
export type LogLevel = Severity | "off";

/**
 * The log of a server, in the words of its author.
 *
 * @example Events for a logger of your own
 * ```ts ignore
 * createServer({
 *   // …
 *   log: {
 *     level: "warning",
 *     write: ({ level, message, properties }) =>
 *       console.error(level, message, properties),
 *   },
 * });
 * ```
 */
export interface LogOptions {
  /** The least level that is written: `info` by default. `LOG_LEVEL` goes before it. */
  level?: LogLevel;
  /**
   * Takes each event, in place of a line on standard output. It is called
   * while requests wait: what takes long is its own to put off. What it throws
   * or rejects with stays in the log, and the event is lost.
   */
  write?(event: LogEvent): void | Promise<void>;
}

/** The voice of one part of a server. */
export interface Logger {
  isEnabledFor(level: Severity): boolean;
  debug(message: string, properties?: Properties): void;
  info(message: string, properties?: Properties): void;
  warning(message: string, properties?: Properties): void;
  error(message: string, properties?: Properties): void;
}

/** A place for events. */
export interface LogOutput {
  write(event: LogEvent): void | Promise<void>;
  /** Resolves when what was written is out, or cannot be soon. */
  flush?(): Promise<void>;
}

/** A sink that fails is told of so often at most. */
const QUIET_MILLISECONDS = 60_000;

/** The log of one server. */
export class Log {
  readonly #least: number;
  readonly #output: LogOutput;
  readonly #fallback: LogOutput;
  /** Events that were lost, since that was told last. */
  #lost = 0;
  #toldMilliseconds = -Infinity;

  /** @param fallback is told when `output` fails */
  constructor(level: LogLevel, output: LogOutput, fallback = output) {
    this.#least = LOG_LEVELS.indexOf(level);
    this.#output = output;
    this.#fallback = fallback;
  }

  /** The voice of one part of the server; `category` names the part. */
  logger(category: string): Logger {
    const isEnabledFor = (level: Severity) =>
      LOG_LEVELS.indexOf(level) >= this.#least;
    const at = (level: Severity) => {
      if (!isEnabledFor(level)) return () => {};
      return (message: string, properties: Properties = {}) =>
        this.#take({
          timestamp: Date.now(),
          level,
          category,
          message,
          // Read here, where the trace is the one of what happened.
          properties: telemetry
            ? { ...properties, ...telemetry.ids }
            : properties,
        });
    };
    return {
      isEnabledFor,
      debug: at("debug"),
      info: at("info"),
      warning: at("warning"),
      error: at("error"),
    };
  }

  /** Writes what still waits: the last thing to do before a process ends. */
  async flush(): Promise<void> {
    try {
      await this.#output.flush?.();
    } catch (error) {
      this.#lose(error);
    }
  }

  /** What reports must neither throw nor reject. */
  #take(event: LogEvent): void {
    try {
      const writing = this.#output.write(event);
      writing?.then(undefined, (error) => this.#lose(error));
    } catch (error) {
      this.#lose(error);
    }
  }

  #lose(error: unknown): void {
    this.#lost++;
    const timestamp = Date.now();
    if (timestamp - this.#toldMilliseconds < QUIET_MILLISECONDS) return;
    this.#toldMilliseconds = timestamp;
    const properties = { events: this.#lost, error };
    this.#lost = 0;
    try {
      this.#fallback.write({
        timestamp,
        level: "error",
        category: "log",
        message: "Events could not be written",
        properties,
      });
    } catch {
      // There is no one left to tell.
    }
  }
}
