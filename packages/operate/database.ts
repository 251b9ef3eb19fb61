/**
 * The database of a command, its log, and its failures.
 *
 * @module
 */
import { Log, type Logger } from "../../src/core/log/log.ts";
import { escapedLines, jsonLine } from "../../src/core/log/log_line.ts";
import { isPostgres, isRemote } from "../../src/core/settings/server.ts";
import { Failure } from "../call/failure.ts";

/**
 * True unless the file of a database is missing: opening it would create it.
 */
export async function fileExists(path: string): Promise<boolean> {
  if (isRemote(path) || isPostgres(path)) return true;
  return await Deno.stat(path).then(() => true, () => false);
}

/** Makes the log of a command, on standard error. */
export function commandLog(name: string): Logger {
  return new Log({}, {
    write: (event) => console.error(jsonLine(event).trimEnd()),
  }).logger(name);
}

/**
 * Makes the failure of a command, with a message that cannot control a
 * terminal.
 */
export function commandFailure(words: string): Failure {
  return new Failure(escapedLines(words));
}
