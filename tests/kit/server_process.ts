/**
 * This server as a process, in the way that tests start several of them.
 *
 * @module
 */
import { Process } from "./process.ts";

/** A server that is listening. */
export interface ServerProcess extends AsyncDisposable {
  /** Origin, without a trailing slash. */
  url: string;
  /** Kills the process, as a crash would. */
  crash(): Promise<void>;
}

/** The options of a {@linkcode ServerProcess}. */
export interface ServerProcessOptions {
  /** The entry point, relative to the repository. */
  entry?: string;
  /** A database file to share; in memory by default. */
  kvPath?: string;
  /** Variables besides `HOST`, `PORT` and `KV_PATH`. */
  env?: Record<string, string>;
}

/**
 * Starts a server on a free loopback port and waits until it prints its
 * address.
 *
 * @throws {Error} with its output, when it ends instead
 */
export async function startServerProcess(
  { entry = "main.ts", kvPath = ":memory:", env }: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const process = new Process(["run", "--quiet", "--allow-all", entry], {
    env: { HOST: "127.0.0.1", KV_PATH: kvPath, LOG_LEVEL: "info", ...env },
  });
  const [url] = await process.prints(/http:\/\/127\.0\.0\.1:\d+/);
  return {
    url,
    crash: () => process.stop("SIGKILL"),
    [Symbol.asyncDispose]: () => process.stop("SIGTERM"),
  };
}
