/**
 * One event, one line: JSON when nobody watches, readable words on a
 * terminal. Arguments, bodies, tokens, codes and states are never logged.
 *
 * @module
 */
import type { LogRecord, TextFormatter } from "@logtape/logtape";

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

type Severity = Exclude<LogLevel, "off">;
type Properties = Record<string, unknown>;

/** Something that happened. */
export interface LogEvent {
  /** Epoch milliseconds. */
  timestamp: number;
  level: Severity;
  /** The part of the server that speaks. */
  category: string;
  message: string;
  properties: Properties;
}

/** What one part of the server has to say. */
export interface Logger {
  isEnabledFor(level: Severity): boolean;
  debug(message: string, properties?: Properties): void;
  info(message: string, properties?: Properties): void;
  warning(message: string, properties?: Properties): void;
  error(message: string, properties?: Properties): void;
}

/** Who takes events, and from which level on. */
interface Settings {
  level: LogLevel;
  take(event: LogEvent): void;
}

let settings: Settings = { level: "off", take() {} };

/**
 * Sends every event to the console, readable when `terminal`, else JSON; or
 * to `take`, as it is.
 */
export function configureLog(
  { level, terminal = false, take = toConsole(terminal) }: {
    level: LogLevel;
    terminal?: boolean;
    take?(event: LogEvent): void;
  },
): void {
  settings = { level, take };
}

/** The server's logger; `category` names the part that speaks. */
export function logger(category: string): Logger {
  const isEnabledFor = (level: Severity) =>
    LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(settings.level);
  const at =
    (level: Severity) => (message: string, properties: Properties = {}) => {
      if (!isEnabledFor(level)) return;
      const timestamp = Date.now();
      settings.take({ timestamp, level, category, message, properties });
    };
  return {
    isEnabledFor,
    debug: at("debug"),
    info: at("info"),
    warning: at("warning"),
    error: at("error"),
  };
}

/** Events that wait for company: written alone, each would cost a system call. */
const waiting: { event: LogEvent; terminal: boolean }[] = [];
const WAIT_MILLISECONDS = 50;
const MOST_WAITING = 500;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Warnings and errors are written at once, with what waited before them. */
function toConsole(terminal: boolean): (event: LogEvent) => void {
  return (event) => {
    waiting.push({ event, terminal });
    const canWait = event.level === "info" || event.level === "debug";
    if (terminal || !canWait || waiting.length >= MOST_WAITING) flushLog();
    else timer ??= setTimeout(flushLog, WAIT_MILLISECONDS);
  };
}

/** Writes what still waits; the last thing to do before a process ends. */
export async function flushLog(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  // Whoever ends the process waits for lines of a flush before this one, too.
  if (waiting.length === 0 && formatting === undefined) return;
  const events = waiting.splice(0);
  const { json, readable } = await (formatting ??= loadFormatting());
  const text = events.map(({ event, terminal }) =>
    (terminal ? readable : json)(recordOf(event))
  ).join("");
  if (text) console.log(text.trimEnd());
}

/** Loaded with the first line, not with the server. */
let formatting: ReturnType<typeof loadFormatting> | undefined;

async function loadFormatting(): Promise<
  { json: TextFormatter; readable: TextFormatter }
> {
  const { getJsonLinesFormatter, getTextFormatter } = await import(
    "@logtape/logtape"
  );
  return {
    json: getJsonLinesFormatter({ properties: "flatten" }),
    readable: getTextFormatter({
      timestamp: "time",
      level: "full",
      format: ({ timestamp, level, message, record: { properties } }) => {
        const facts = Object.entries(properties)
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) =>
            `${name}=${value instanceof Error ? value.stack : value}`
          );
        return [timestamp, level.padEnd(7), message, ...facts].join(" ");
      },
    }),
  };
}

function recordOf({ category, message, ...event }: LogEvent): LogRecord {
  return {
    ...event,
    category: ["tool-server", category],
    message: [message],
    rawMessage: message,
  };
}
