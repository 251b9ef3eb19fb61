/**
 * One event, one line: JSON when nobody watches, readable words on a
 * terminal. Arguments, bodies, tokens, codes and states are never logged.
 *
 * @module
 */
import {
  configureSync,
  getConsoleSink,
  getJsonLinesFormatter,
  getLogger,
  getTextFormatter,
  type Logger,
  type LogRecord,
  type Sink,
} from "@logtape/logtape";

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

export type { Logger };

/** Sends every event to the console: readable when `terminal`, else JSON. */
export function configureLog(
  { level, terminal }: { level: LogLevel; terminal: boolean },
): void {
  flushLog();
  configureSync({
    reset: true,
    sinks: { console: terminal ? readableSink() : jsonSink },
    loggers: [
      {
        category: "tool-server",
        sinks: level === "off" ? [] : ["console"],
        lowestLevel: level === "off" ? "fatal" : level,
      },
      { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
    ],
  });
}

/** Lines that wait for company: written alone, each would cost a system call. */
const waiting: string[] = [];
const WAIT_MILLISECONDS = 50;
const MOST_WAITING = 500;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Writes what still waits; the last thing to do before a process ends. */
export function flushLog(): void {
  clearTimeout(timer);
  timer = undefined;
  if (waiting.length > 0) console.log(waiting.splice(0).join("").trimEnd());
}

const formatJson = getJsonLinesFormatter({ properties: "flatten" });

/** Warnings and errors are written at once, with what waited before them. */
function jsonSink(record: LogRecord): void {
  waiting.push(formatJson(record));
  const canWait = record.level === "info" || record.level === "debug";
  if (!canWait || waiting.length >= MOST_WAITING) return flushLog();
  timer ??= setTimeout(flushLog, WAIT_MILLISECONDS);
}

function readableSink(): Sink {
  return getConsoleSink({
    formatter: getTextFormatter({
      timestamp: "time",
      level: "full",
      format: readable,
    }),
  });
}

function readable(
  { timestamp, level, message, record }: {
    timestamp: string | null;
    level: string;
    message: string;
    record: { properties: Record<string, unknown> };
  },
): string {
  const facts = Object.entries(record.properties)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      `${name}=${value instanceof Error ? value.stack : value}`
    );
  return [timestamp, level.padEnd(7), message, ...facts].join(" ");
}

/** The server's logger; `category` names the part that speaks. */
export function logger(category: string): Logger {
  return getLogger(["tool-server", category]);
}
