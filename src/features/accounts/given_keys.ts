/**
 * The keys and tokens that one call was given, which get into no log: an author's
 * error may quote a service, and that the key.
 *
 * @module
 */
import { ToolError } from "../../authoring/tool.ts";
import { framesOf, messageOf, wholeTextOf } from "../../core/thrown.ts";

export class GivenKeys {
  readonly #keys = new Set<string>();

  add(key: string): void {
    this.#keys.add(key);
  }

  /** Gives an error without keys in place of one whose text holds one. */
  clean(error: unknown): unknown {
    if (this.#keys.size === 0) return error;
    const text = wholeTextOf(error);
    const held = [...this.#keys].filter((key) => text.includes(key));
    if (held.length === 0) return error;
    const message = held.reduce(
      (message, key) => message.replaceAll(key, "(hidden)"),
      messageOf(error),
    );
    const clean = error instanceof ToolError
      ? new ToolError(message)
      : new Error(message);
    clean.stack = `${message}\n${framesOf(error)}`;
    return clean;
  }
}
