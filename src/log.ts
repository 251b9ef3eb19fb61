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
  configureSync({
    reset: true,
    sinks: {
      console: getConsoleSink({
        formatter: terminal
          ? getTextFormatter({
            timestamp: "time",
            level: "full",
            format: readable,
          })
          : getJsonLinesFormatter({ properties: "flatten" }),
      }),
    },
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
