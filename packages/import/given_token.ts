/**
 * The access token of `--token`, which a server may repeat: it is printed and
 * written nowhere.
 *
 * @module
 */
import { GivenKeys } from "../../src/core/mcp/exchange/given_keys.ts";
import { ImportError } from "./document.ts";

/** Hides the token of one run of the command. */
export class GivenToken {
  readonly #keys = new GivenKeys();

  constructor(token?: string) {
    if (token !== undefined) this.#keys.add(token);
  }

  /** Returns a terminal at which the token is not printed. */
  hiddenAt<T extends { print(text: string): void }>(terminal: T): T {
    const print = (text: string) => terminal.print(this.#keys.hide(text));
    return { ...terminal, print };
  }

  /** Hides the token in the error of a source that could not be opened. */
  async opened<T>(opening: Promise<T>): Promise<T> {
    try {
      return await opening;
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      throw new ImportError(this.#keys.hide(error.message));
    }
  }

  /** @throws {ImportError} if a file would hold the token */
  check(files: readonly { readonly text: string }[]): void {
    if (files.every(({ text }) => this.#keys.hide(text) === text)) return;
    throw new ImportError(
      "The server repeats your --token, and a file would hold it: nothing was written.",
    );
  }
}
