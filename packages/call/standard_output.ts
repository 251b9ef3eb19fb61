/**
 * The results of a command, on standard output.
 *
 * @module
 */
/** Explains why standard output cannot be written. */
export function explainUnwritten(error: unknown): string {
  return `Standard output cannot be written: ${(error as Error).message}`;
}

/**
 * Prints a text and a line end. If that fails, as on a full disk, reports it in
 * one line, and ends the process.
 */
export function print(text: string): void {
  try {
    console.log(text);
  } catch (error) {
    console.error(explainUnwritten(error));
    Deno.exit(1);
  }
}
