/**
 * A server of the benchmark as a process: started, measured, stopped.
 *
 * @module
 */
import { pause } from "../src/core/clock.ts";
import { freePort } from "../tests/kit/port.ts";
import { callHealth, clientOf, connect, type Endpoint } from "./client.ts";
import { prepareLogin } from "./login.ts";
import type { Server } from "./servers.ts";

/** A server that answers. */
export interface Running extends Endpoint {
  /** Gives the processor time of all its threads so far, in seconds. */
  cpuSeconds(): number;
  /** Gives the same to the nanosecond, of the threads that have not ended. */
  scheduledSeconds(): number;
  /** Gives the resident memory in bytes. */
  residentBytes(): number;
  stop(): Promise<void>;
}

export interface StartOptions {
  /** The number of tools it serves; by default those that it ships. */
  tools?: number;
  /** Its database; by default a new one. */
  kvPath?: string;
}

/**
 * Starts a server and waits for its answer to a first call.
 *
 * @throws {Error} with what it wrote when it does not come up in 20 seconds
 */
export async function start(
  server: Server,
  { tools, kvPath }: StartOptions = {},
): Promise<Running> {
  const { revision, login = "none", command, withCatalogue, settings } = server;
  const port = freePort();
  const directory = await Deno.makeTempDir();
  const log = `${directory}/log`;
  kvPath ??= `${directory}/tools.db`;
  const baseUrl = `http://127.0.0.1:${port}`;
  const { environment, authorization } = await prepareLogin(
    login,
    { baseUrl, kvPath },
  );
  const [program, ...args] = tools && withCatalogue ? withCatalogue : command;
  const started = performance.now();
  const child = new Deno.Command("sh", {
    // exec: the measured process is the server itself, and its output is a file
    // that need not be read while it runs.
    args: ["-c", 'exec "$@" >"$LOG" 2>&1', "sh", program, ...args],
    env: {
      PORT: String(port),
      TOOLS: String(tools ?? 3),
      LOG: log,
      KV_PATH: kvPath,
      ...environment,
      ...settings,
    },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();

  const stop = async () => {
    child.kill("SIGKILL");
    await child.status;
    await Deno.remove(directory, { recursive: true });
  };
  try {
    const endpoint = await answering(
      { port, revision, authorization },
      started,
    );
    return {
      ...endpoint,
      cpuSeconds: () => cpuSeconds(child.pid),
      scheduledSeconds: () => scheduledSeconds(child.pid),
      residentBytes: () => residentBytes(child.pid),
      stop,
    };
  } catch (cause) {
    const output = await Deno.readTextFile(log);
    await stop();
    throw new Error(`${server.name} does not answer: ${output}`, { cause });
  }
}

async function answering(
  endpoint: Endpoint,
  started: number,
): Promise<Endpoint> {
  for (;;) {
    try {
      const connected = await connect(endpoint);
      const { method, params } = callHealth;
      const { structuredContent } = await clientOf(connected)
        .request(method, params);
      if ((structuredContent as { status?: string })?.status !== "ok") {
        throw new Error("health did not say ok");
      }
      return connected;
    } catch (error) {
      const refused = error instanceof TypeError; // from fetch: not listening
      if (!refused || performance.now() - started > 20_000) throw error;
      await pause(1);
    }
  }
}

/** Linux counts processor time in hundredths of a second (proc(5)). */
const TICKS_PER_SECOND = 100;

/** Gives the processor time of all threads of a process, in seconds. */
export function cpuSeconds(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // The second field, the program's name in parentheses, may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/**
 * Adds up the first field of each thread's schedstat, in nanoseconds (proc(5)).
 */
export function scheduledSeconds(pid: number): number {
  let nanoseconds = 0;
  for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
    try {
      const stat = Deno.readTextFileSync(`/proc/${pid}/task/${name}/schedstat`);
      nanoseconds += Number(stat.split(" ")[0]);
    } catch (error) {
      // A thread may end before its turn to be read.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return nanoseconds / 1e9;
}

function residentBytes(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
}
