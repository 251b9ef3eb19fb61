/**
 * Logs of test servers: silent ones, and ones that a test examines.
 *
 * @module
 */
import {
  Log,
  type LogEvent,
  type Logger,
  type LogLevel,
  type LogOptions,
} from "../../src/core/log/log.ts";

/** The log of a server whose test is about something else. */
export const SILENT: LogOptions = { level: "off" };

/** A logger that writes nothing. */
export const silentLogger: Logger = new Log({ level: "off" }, { write() {} })
  .logger("test");

/** A server's events, as they come. */
export interface RecordedLog {
  /** The option of a server. */
  log: LogOptions & Required<Pick<LogOptions, "write">>;
  events: LogEvent[];
  /** A logger for a part that is tested without a server. */
  logger: Logger;
}

/** Records the events at a level and above. */
export function recordLog(level: LogLevel = "info"): RecordedLog {
  const events: LogEvent[] = [];
  const write = (event: LogEvent) => void events.push(event);
  const logger = new Log({ level }, { write }).logger("test");
  // Spread into the options of a server, it gives `log` alone.
  return Object.defineProperties({ log: { level, write } } as RecordedLog, {
    events: { value: events },
    logger: { value: logger },
  });
}
