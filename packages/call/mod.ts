/**
 * `deno task ts call NAME key=value …` and `deno task ts list`: an MCP client
 * on the command line. It signs in by the browser, answers questions, shows
 * progress, and follows tasks to their end.
 *
 * @module
 */
import { SAME_SIGNAL_MILLISECONDS } from "../../src/core/clock.ts";
import type { ServerError } from "../client/mod.ts";
import { Command, type Surroundings } from "./command.ts";
import { parseCommandLine } from "./command_line.ts";
import { Exit, Failure } from "./failure.ts";
import { Terminal } from "./terminal.ts";

/** Prints the reason why a command failed, and returns its exit code. */
function explain(error: unknown, { terminal, signal }: Surroundings) {
  if (signal.aborted) {
    terminal.report("Cancelled");
    return Exit.cancelled;
  }
  // The program that reads the results has closed the pipe, as `head` does.
  if (error instanceof Deno.errors.BrokenPipe) return 0;
  if (error instanceof Failure) {
    terminal.report(error.message);
    return error.exitCode;
  }
  const { message, response, code, taskId } = error as Partial<ServerError>;
  // Other exceptions have codes too, such as that of a cancelled task.
  terminal.report(
    response === undefined || code === undefined
      ? `${message}`
      : taskId === undefined
      ? `The server refuses (${code}): ${message}`
      : `The task failed (${code}): ${message}`,
  );
  return response?.status === 401 || response?.status === 403
    ? Exit.access
    : Exit.server;
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const interruption = new AbortController();
  const surroundings: Surroundings = {
    env: (name) => Deno.env.get(name),
    terminal: new Terminal(),
    signal: interruption.signal,
  };
  let interruptedMilliseconds: number | undefined;
  Deno.addSignalListener("SIGINT", () => {
    const time = performance.now();
    interruptedMilliseconds ??= time;
    // A second Ctrl+C ends the process, even if a server does not answer.
    if (time - interruptedMilliseconds >= SAME_SIGNAL_MILLISECONDS) {
      Deno.exit(Exit.cancelled);
    }
    interruption.abort(new DOMException("Cancelled", "AbortError"));
  });
  let exitCode: number;
  try {
    const line = parseCommandLine(args);
    exitCode = await Command.run(line, surroundings);
  } catch (error) {
    exitCode = explain(error, surroundings);
  }
  surroundings.terminal.clear();
  return exitCode;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
