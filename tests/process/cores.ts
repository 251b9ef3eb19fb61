/**
 * `deno task ts cores` on a port of its own, and the processes that it
 * starts.
 *
 * @module
 */
import { freePort } from "../kit/port.ts";
import { SERVER_COMMAND } from "../../packages/cli/mod.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";

const CLI = "run -qA --env-file=.env packages/cli/mod.ts";

/** The process that starts two servers on one database file. */
export class Cores extends Process {
  readonly origin: string;
  /** The database file, unless the environment names another. */
  readonly kvPath: string;
  readonly #directory: TemporaryDirectory;

  /**
   * @param shell a shell program that runs the command, in place of the command
   * itself
   */
  constructor(env: Record<string, string> = {}, shell?: string) {
    const args = `${CLI} cores ${SERVER_COMMAND}`.split(" ");
    const directory = new TemporaryDirectory();
    const { path } = directory;
    const server = args.lastIndexOf("run") + 1;
    args.splice(server, 0, `--allow-read=${path}`, `--allow-write=${path}`);
    const kvPath = `${path}/tools.db`;
    const { PORT = String(freePort()) } = env;
    super(shell ? ["-c", shell, "sh", ...args] : args, {
      command: shell && "sh",
      env: { PROCESSES: "2", KV_PATH: kvPath, ...env, PORT },
    });
    this.origin = `http://127.0.0.1:${PORT}`;
    this.kvPath = kvPath;
    this.#directory = directory;
  }

  /** Starts the processes, and waits for both. */
  static async listening(): Promise<Cores> {
    const cores = new Cores();
    await cores.prints(/"Listening"[\s\S]*"Listening"/);
    return cores;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}

/** Lists the processes that a process started. */
export async function childrenOf(
  { pid }: Pick<Process, "pid">,
): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`);
  return text.trim().split(" ").filter(Boolean).map(Number);
}

/** True if a process runs: one that ended may still be listed as a zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => ") Z");
  return !/\) [ZX]/.test(stat);
}
