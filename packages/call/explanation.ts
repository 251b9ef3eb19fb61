/**
 * The reason why a command failed, in words and as its exit code.
 *
 * @module
 */
import type { ServerError } from "../client/mod.ts";
import type { Surroundings } from "./command.ts";
import { Exit, Failure } from "./failure.ts";

/** Prints the reason why a command failed, and gives its exit code. */
export function explain(error: unknown, { terminal, signal }: Surroundings) {
  if (signal.aborted) {
    terminal.tell("Cancelled");
    return Exit.cancelled;
  }
  // The reader of the results has seen enough, as head does.
  if (error instanceof Deno.errors.BrokenPipe) return 0;
  if (error instanceof Failure) {
    terminal.tell(error.message);
    return error.exitCode;
  }
  const { message, response, code } = error as Partial<ServerError>;
  terminal.tell(
    code === undefined
      ? `${message}`
      : `The server refuses (${code}): ${message}`,
  );
  return response?.status === 401 || response?.status === 403
    ? Exit.access
    : Exit.server;
}
