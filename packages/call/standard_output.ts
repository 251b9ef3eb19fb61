/**
 * The results of a command, on standard output.
 *
 * @module
 */
import { messageOf } from "../../src/thrown.ts";

/**
 * Prints a text and a line end. If that fails, as on a full disk, it says so in
 * one line, and ends the process.
 */
export function print(text: string): void {
  try {
    console.log(text);
  } catch (error) {
    console.error(`Standard output cannot be written: ${messageOf(error)}`);
    Deno.exit(1);
  }
}
