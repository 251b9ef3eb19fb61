/**
 * One event, one line: JSON when no one watches, readable words on a
 * terminal. Arguments, bodies, tokens, codes and states are never logged.
 *
 * @module
 */
import {
  jsonLine,
  type LogEvent,
  type Properties,
  type Severity,
  terminalLine,
} from "./log_line.ts";
import { telemetry } from "./telemetry.ts";

export type { LogEvent } from "./log_line.ts";

/** `LOG_LEVEL`, least to most severe; `off` silences the log. */
export const LOG_LEVELS = [
  "debug",
  "info",
  "warning",
  "error",
  "off",
] as const;

/** One of {@linkcode LOG_LEVELS}. */
export type LogLevel = typeof LOG_LEVELS[number];

/** What one part of the server has to say. */
export interface Logger {
  isEnabledFor(level: Severity): boolean;
  debug(message: string, properties?: Properties): void;
  info(message: string, properties?: Properties): void;
  warning(message: string, properties?: Properties): void;
  error(message: string, properties?: Properties): void;
}

type Take = (event: LogEvent) => void;

let take: Take = () => {};
/** From which place in {@linkcode LOG_LEVELS} on events are taken. */
let least = LOG_LEVELS.indexOf("off");

/** Where events go. */
export interface LogOptions {
  level: LogLevel;
  /** Words for a person rather than JSON. */
  terminal?: boolean;
  /** Whether every console call is captured as a record of its own. */
  captured?: boolean;
  /** Takes events as they are, in place of the console. */
  take?: Take;
}

/** Sends every event to the console, or to `take`. */
export function configureLog(options: LogOptions): void {
  least = LOG_LEVELS.indexOf(options.level);
  take = options.take ?? toConsole(options);
}

function toConsole({ captured, terminal }: LogOptions): Take {
  if (captured) return oneByOne;
  if (terminal) return (event) => console.log(terminalLine(event));
  return together;
}

/** The server's logger; `category` names the part that speaks. */
export function logger(category: string): Logger {
  const isEnabledFor = (level: Severity) => LOG_LEVELS.indexOf(level) >= least;
  const at = (level: Severity) => {
    const place = LOG_LEVELS.indexOf(level);
    return (message: string, properties: Properties = {}) => {
      if (place < least) return;
      take({ timestamp: Date.now(), level, category, message, properties });
    };
  };
  return {
    isEnabledFor,
    debug: at("debug"),
    info: at("info"),
    warning: at("warning"),
    error: at("error"),
  };
}

/** Lines that wait for company: written alone, each would cost a system call. */
let waiting = "";
let waitingCount = 0;
const WAIT_MILLISECONDS = 50;
const MOST_WAITING = 500;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Warnings and errors are written at once, with what waited before them. */
function together(event: LogEvent): void {
  const line = jsonLine(event);
  waiting += waitingCount++ === 0 ? line : `\n${line}`;
  const canWait = event.level === "info" || event.level === "debug";
  if (!canWait || waitingCount >= MOST_WAITING) flushLog();
  else timer ??= setTimeout(flushLog, WAIT_MILLISECONDS);
}

/**
 * One call for each event, at once and by level: anyone who captures the console
 * (OpenTelemetry, Deno Deploy) makes a record of each call, in the trace it was
 * made in. Anyone who reads the lines instead finds the trace in them.
 */
function oneByOne(event: LogEvent): void {
  const properties = { ...event.properties, ...telemetry?.ids };
  const line = jsonLine({ ...event, properties });
  switch (event.level) {
    case "debug":
      return console.debug(line);
    case "info":
      return console.info(line);
    case "warning":
      return console.warn(line);
    case "error":
      return console.error(line);
  }
}

/** Writes what still waits; the last thing to do before a process ends. */
export function flushLog(): void {
  clearTimeout(timer);
  timer = undefined;
  if (waitingCount === 0) return;
  const text = waiting;
  waiting = "";
  waitingCount = 0;
  console.log(text);
}
