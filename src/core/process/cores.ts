/**
 * A server process for each core, all on one port:
 *
 * ```sh
 * deno task ts cores                # as many as there are cores
 * PROCESSES=4 deno task ts cores
 * ```
 *
 * Linux hands each connection to one of the processes. Everything else they
 * share is in the database, as always. The arguments are the command that each
 * process runs. Its output is passed on in whole lines. `REUSE_PORT` tells each
 * process to share the port, and `--with-parent` to end with this process.
 *
 * @module
 */
import { Log } from "../log/log.ts";
import { jsonLine } from "../log/log_line.ts";
import { StartError } from "../settings/complaint.ts";
import { addressComplaint } from "./failed_start.ts";
import { CoreProcesses, stderr, stdout } from "./core_processes.ts";
import { watchParent, WITH_PARENT } from "./signals.ts";

/** Ends the process with a message that says what to fix. */
function refuse(message: string): never {
  console.error(message);
  Deno.exit(1);
}

function readNumber(variable: string, usual: number): number {
  const text = Deno.env.get(variable)?.trim() || String(usual);
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  refuse(
    new StartError({
      variable,
      got: text,
      wants: "a number above 0",
      fix: `Use ${variable}=${usual}, or leave it unset`,
    }).message,
  );
}

/** Runs the command in the arguments once for each core. Never returns. */
export async function main(args: readonly string[]): Promise<never> {
  const hasParent = args[0] === WITH_PARENT;
  const command = hasParent ? args.slice(1) : args;
  if (command.length === 0) refuse("Usage: cores deno run … main.ts");
  if (Deno.build.os !== "linux") {
    refuse(
      "Only Linux spreads the connections of one port over processes. Use a " +
        "process for each port, with a proxy in front.",
    );
  }
  const hostname = Deno.env.get("HOST")?.trim() || "127.0.0.1";
  const port = readNumber("PORT", 3000);
  const processes = readNumber("PROCESSES", navigator.hardwareConcurrency);
  try {
    // Checks that the port is free. A service that shares it already would get
    // half of the requests.
    Deno.listen({ hostname, port }).close();
  } catch (error) {
    const complaint = addressComplaint(error, { host: hostname, port });
    refuse(new StartError(complaint).message);
  }
  const log = new Log({ level: "info" }, {
    write: (event) => stdout.push(jsonLine(event)),
  });
  const cores = new CoreProcesses({
    command,
    processes,
    hostname,
    port,
    log: log.logger("cores"),
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, () => cores.stop(signal));
  }
  // A flag in the arguments of the command itself is passed on unchanged.
  if (hasParent) watchParent([WITH_PARENT], () => cores.stop("SIGHUP"));
  const code = await cores.run();
  await Promise.all([stdout.flush(), stderr.flush()]);
  Deno.exit(code);
}

if (import.meta.main) await main(Deno.args);
