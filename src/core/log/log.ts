/**
 * The log of a server. Each server has its own, with a level and an output.
 * Arguments, bodies, tokens, codes and states are never logged. Each request
 * has a reference in the log, and an outcome.
 *
 * @module
 */
import type { LogEvent, Properties } from "./log_line.ts";
import { LatestMap } from "../cache.ts";
import { telemetry } from "../telemetry/current.ts";
import { nameAndMessageOf, reasonsOf } from "../thrown.ts";
import { randomId } from "../crypto/crypto.ts";

export type { LogEvent } from "./log_line.ts";

type Severity = LogEvent["level"];

/**
 * The values of `LOG_LEVEL`, from least to most severe; `off` silences the log.
 */
export const LOG_LEVELS = [
  "debug",
  "info",
  "warning",
  "error",
  "off",
] as const satisfies LogLevel[];

/** The least severe level that is written; `off` writes none. */
export type LogLevel = Severity | "off";

/**
 * The options of a server's log.
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
  /**
   * The least severe level that is written; `info` by default. `LOG_LEVEL`
   * takes precedence.
   */
  level?: LogEvent["level"] | "off";
  /**
   * Without this option, audit events (sign-ins, and changes by people and
   * operators) are written at every level but `off`. With `false` they are
   * events of `info`. `AUDIT_LOG` takes precedence.
   */
  audit?: boolean;
  /**
   * Receives each event, in place of a line on standard output. Requests wait
   * for it. If it throws, the event is lost.
   */
  write?(event: LogEvent): unknown;
}

/** The log of one part of a server, its `category`. */
export interface Logger {
  isEnabledFor(level: Severity): boolean;
  debug(message: string, properties?: Properties): void;
  info(message: string, properties?: Properties): void;
  warning(message: string, properties?: Properties): void;
  error(message: string, properties?: Properties): void;
  /** Logs an audit event: a sign-in, or a change of permissions. */
  audit(message: string, properties?: Properties): void;
}

export interface LogOutput {
  write(event: LogEvent): unknown;
  /** Resolves when everything is written, or after a short time-out. */
  flush?(): Promise<void>;
}

/** The minimum time between two reports of a failing output. */
const QUIET_MILLISECONDS = 60_000;

export class Log {
  readonly #least: number;
  readonly #audits: boolean;
  /** The number of events that were lost since the last report. */
  #lost = 0;
  #loggedMilliseconds = -Infinity;

  /** @param fallback receives reports that `output` fails */
  constructor(
    { level = "info", audit = true }: Omit<LogOptions, "write">,
    private readonly output: LogOutput,
    private readonly fallback = output,
  ) {
    this.#least = LOG_LEVELS.indexOf(level);
    const isInfo = this.#least <= LOG_LEVELS.indexOf("info");
    this.#audits = level !== "off" && (audit || isInfo);
  }

  /** Makes the log of one part of the server. */
  logger(category: string): Logger {
    const isEnabledFor = (level: Severity) =>
      LOG_LEVELS.indexOf(level) >= this.#least;
    const writer = (level: Severity, audit?: true) => {
      if (!(audit ? this.#audits : isEnabledFor(level))) return () => {};
      return (message: string, properties: Properties = {}) =>
        this.#take({
          timestamp: Date.now(),
          level,
          category,
          ...(audit && { audit }),
          message,
          // Read here, where the active trace is that of the event.
          properties: telemetry
            ? { ...properties, ...telemetry.ids }
            : properties,
        });
    };
    return {
      isEnabledFor,
      debug: writer("debug"),
      info: writer("info"),
      warning: writer("warning"),
      error: writer("error"),
      audit: writer("info", true),
    };
  }

  /** Writes the queued events; called last before a process ends. */
  async flush(): Promise<void> {
    try {
      await this.output.flush?.();
    } catch (error) {
      this.#lose(error);
    }
  }

  /**
   * Writes an event. Never throws or rejects: a failing log must not fail a
   * request.
   */
  #take(event: LogEvent): void {
    try {
      const writing = this.output.write(event) as
        | PromiseLike<void>
        | undefined;
      // Many log functions return themselves or a number.
      if (typeof writing?.then === "function") {
        Promise.resolve(writing).catch((error) => this.#lose(error));
      }
    } catch (error) {
      this.#lose(error);
    }
  }

  #lose(error: unknown): void {
    this.#lost++;
    const time = performance.now();
    if (time - this.#loggedMilliseconds < QUIET_MILLISECONDS) return;
    this.#loggedMilliseconds = time;
    const properties = { events: this.#lost, error };
    this.#lost = 0;
    try {
      this.fallback.write({
        timestamp: Date.now(),
        level: "error",
        category: "log",
        message: "Events could not be written",
        properties,
      });
    } catch {
      // There is nowhere else to report this.
    }
  }
}

/** The time in which failures with the same cause are logged once. */
const SAME_CAUSE_MILLISECONDS = 1000;
/** The time in which failures of the same repeated task are logged once. */
const SAME_WORK_MILLISECONDS = 60_000;
/** The maximum number of different failures that are remembered. */
const MAX_KINDS = 100;

interface LoggedFailure {
  atMilliseconds: number;
  /** The number of failures that were not logged. */
  repeated: number;
}

/** The latest failures of each log, by cause or message. */
const failuresOf = new WeakMap<Logger, LatestMap<LoggedFailure>>();

/**
 * Logs a failure of a database, a provider or the like: once a second for each
 * cause, with the number of failures left out since.
 */
export function logFailure(
  log: Logger,
  error: unknown,
  properties: Properties,
): void {
  // All failures with one cause have the same root error.
  const cause = nameAndMessageOf(reasonsOf(error).at(-1) ?? error).slice(
    0,
    200,
  );
  const before = countFailure(log, cause, SAME_CAUSE_MILLISECONDS);
  if (before) log.warning("Not available", { ...properties, ...before, error });
}

/**
 * Logs a failure of a repeated task: once a minute for each message, with the
 * number of failures left out since.
 */
export function logRepeated(
  log: Logger,
  message: string,
  properties: Properties,
): void {
  const before = countFailure(log, message, SAME_WORK_MILLISECONDS);
  if (before) log.warning(message, { ...properties, ...before });
}

/**
 * Counts a failure. Returns the number left out before this one; undefined if
 * this one is left out, too.
 */
function countFailure(
  log: Logger,
  kind: string,
  milliseconds: number,
): { repeated?: number } | undefined {
  let failures = failuresOf.get(log);
  if (!failures) failuresOf.set(log, failures = new LatestMap(MAX_KINDS));
  const time = performance.now();
  const before = failures.get(kind);
  if (before && time - before.atMilliseconds < milliseconds) {
    before.repeated++;
    return undefined;
  }
  failures.set(kind, { atMilliseconds: time, repeated: 0 });
  return { repeated: before?.repeated || undefined };
}

/** The first part of all references of this process; a counter follows. */
const prefix = randomId(8);
let count = 0;

export function newReference(): string {
  return `${prefix}-${(++count).toString(36)}`;
}

/**
 * Hashes a secret (FNV-1a), to find log lines with the same secret. The 32 bits
 * do not reveal an id of 128 bits.
 */
export function shortHash(secret: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < secret.length; index++) {
    hash = Math.imul(hash ^ secret.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

export type Outcome =
  | "ok"
  /** The tool reported a failure, or its arguments were wrong. */
  | "tool_error"
  | "internal_error"
  /**
   * The request was not allowed, or cannot be handled now; the server is
   * healthy.
   */
  | "refused"
  /** The client cancelled the request, or disconnected. */
  | "cancelled"
  /** The server stopped, or the permission for the request ended. */
  | "stopped"
  /**
   * The response asks a question; the client repeats the request with the
   * answer.
   */
  | "input_required";

/** True if the outcome may need an operator's attention. */
export function isFailure(outcome: Outcome): boolean {
  return outcome === "tool_error" || outcome === "internal_error" ||
    outcome === "refused" || outcome === "stopped";
}
