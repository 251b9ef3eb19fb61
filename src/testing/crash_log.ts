/**
 * Exceptions that clients know by a reference only.
 *
 * @module
 */
import type { Logger } from "../log.ts";

const REFERENCE = /\(reference ([\w-]+)\)/;

/** Keeps what a tool threw, so that its test can show it. */
export class CrashLog implements Logger {
  #errors = new Map<unknown, unknown>();

  isEnabledFor(level: string): boolean {
    return level === "error";
  }

  debug(): void {}
  info(): void {}
  warning(): void {}

  error(_message: string, properties: Record<string, unknown> = {}): void {
    if (!("error" in properties)) return;
    this.#errors.set(properties.reference, properties.error);
  }

  /**
   * Throws the exception whose reference a client was shown.
   *
   * @param what what was asked of the server, for the message
   */
  rethrow(text: string, what: string): void {
    const reference = REFERENCE.exec(text)?.[1];
    const error = this.#errors.get(reference);
    if (error === undefined) return;
    const causes = describe(error);
    throw new Error(`${what} threw ${causes}`, { cause: error });
  }
}

/** An exception with its causes, one a line. */
function describe(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? `${error}` : `${error}\n${describe(cause)}`;
}
