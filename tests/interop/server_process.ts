/**
 * This server as a process, as people run it.
 *
 * @module
 */

/** A server that is listening. */
export interface ServerProcess extends AsyncDisposable {
  /** Origin, without a trailing slash. */
  url: string;
  /** Kills the process, as a crash would. */
  crash(): Promise<void>;
}

/** The options of a {@linkcode ServerProcess}. */
export interface ServerOptions {
  /** The entry point, relative to the repository. */
  entry?: string;
  /** A database file to share; in memory by default. */
  kvPath?: string;
  /** Variables besides `HOST`, `PORT` and `KV_PATH`. */
  env?: Record<string, string>;
}

const REPOSITORY = new URL("../../", import.meta.url);

/**
 * Starts a server on a free loopback port and waits until it prints its
 * address.
 *
 * @throws {Error} with its output, when it ends instead
 */
export async function startServer(
  { entry = "main.ts", kvPath = ":memory:", env }: ServerOptions = {},
): Promise<ServerProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", entry],
    cwd: REPOSITORY,
    env: {
      HOST: "127.0.0.1",
      PORT: "0",
      KV_PATH: kvPath,
      LOG_LEVEL: "info",
      ...env,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  /** Reads to the end, so that a full pipe never stops the server. */
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const text = stream.pipeThrough(new TextDecoderStream());
    for await (const chunk of text) {
      output += chunk;
      const url = output.match(/http:\/\/127\.0\.0\.1:\d+/)?.[0];
      if (url) resolve(url);
      if (output.length > 100_000) output = output.slice(-50_000);
    }
  };
  const ended = Promise.all([
    read(child.stdout),
    read(child.stderr),
    child.status,
  ]);
  const url = await Promise.race([listening, ended.then(() => undefined)]);
  if (url === undefined) throw new Error(`${entry} ended:\n${output}`);
  const end = async (signal: Deno.Signal) => {
    try {
      child.kill(signal);
    } catch (error) {
      // It has ended already.
      if (!(error instanceof TypeError)) throw error;
    }
    await ended;
  };
  return {
    url,
    crash: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}
