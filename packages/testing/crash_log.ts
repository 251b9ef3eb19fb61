/**
 * Exceptions whose reference is all that a client sees.
 *
 * @module
 */
import type { LogEvent, LogOptions } from "../../src/log/log.ts";
import { headOf, reasonsOf } from "../../src/thrown.ts";
import { standardOutput } from "../../src/log/standard_output.ts";

const REFERENCE = /\(reference ([\w-]+)\)/;

/**
 * The log of a test server: warnings alone, unless its test asks for events.
 * It keeps the exceptions of tools, so that the test can show them.
 */
export class CrashLog implements LogOptions {
  readonly level: LogOptions["level"];
  readonly audit: LogOptions["audit"];
  readonly #passOn: LogOptions["write"];
  readonly #errors = new Map<unknown, unknown>();

  /** @param options the log that the test asks for */
  constructor(options?: LogOptions) {
    this.level = options ? options.level : "warning";
    this.audit = options ? options.audit : false;
    const output = options?.write ? options : standardOutput();
    this.#passOn = options ? (event) => output.write!(event) : warnAuthor;
  }

  write(event: LogEvent): unknown {
    const { level, properties: { reference, error } } = event;
    if (level === "error" && error !== undefined) {
      this.#errors.set(reference, error);
    }
    return this.#passOn?.(event);
  }

  /**
   * Throws the exception whose reference a client was shown.
   *
   * @param what the name of the request's target, for the message
   */
  rethrow(text: string, what: string): void {
    const reference = REFERENCE.exec(text)?.[1];
    const error = this.#errors.get(reference);
    if (error === undefined) return;
    const causes = [error, ...reasonsOf(error)].map(headOf).join("\n");
    throw new Error(`${what} threw ${causes}`, { cause: error });
  }
}

/** Prints a warning: no failure, but something for the author to fix. */
function warnAuthor({ level, message, properties }: LogEvent): void {
  if (level !== "warning") return;
  const whose = properties.tool ?? properties.prompt;
  console.warn(whose === undefined ? message : `${whose}: ${message}`);
}
