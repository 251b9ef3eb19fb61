/**
 * `deno task call NAME key=value …` and `deno task list`: an MCP client on the
 * command line. It signs in by the browser, answers questions, shows progress,
 * and follows tasks to their end.
 *
 * @module
 */
import { Command, type Surroundings } from "./command.ts";
import { parseCommandLine } from "./command_line.ts";
import { explain } from "./explanation.ts";
import { Exit } from "./failure.ts";
import { Terminal } from "./terminal.ts";

if (import.meta.main) {
  const interruption = new AbortController();
  const surroundings: Surroundings = {
    env: (name) => Deno.env.get(name),
    terminal: new Terminal(),
    signal: interruption.signal,
  };
  Deno.addSignalListener("SIGINT", () => {
    // A server that does not answer holds no one: the second one ends it.
    if (interruption.signal.aborted) Deno.exit(Exit.cancelled);
    interruption.abort(new DOMException("Cancelled", "AbortError"));
  });
  let exitCode: number;
  try {
    const line = parseCommandLine(Deno.args);
    exitCode = await Command.run(line, surroundings);
  } catch (error) {
    exitCode = explain(error, surroundings);
  }
  surroundings.terminal.clear();
  Deno.exit(exitCode);
}
