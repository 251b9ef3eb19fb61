/**
 * A denokv server for the tests: found, or built once with cargo and kept.
 *
 * @module
 */
import { freePort } from "./port.ts";
import { until } from "./wait.ts";

/** The version that is built if none is found. */
const VERSION = "0.14.0";

/** The token that every user of the database sends to denokv. */
export const ACCESS_TOKEN = "a-token-of-the-tests";

const home = Deno.env.get("HOME") ?? "";
const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${home}/.cache`;
const kept = `${cache}/tool-server/denokv-${VERSION}`;
const built = `${kept}/bin/denokv`;

/** Finds denokv; undefined if there is none. */
export async function findDenokv(): Promise<string | undefined> {
  for (const path of ["denokv", `${home}/.cargo/bin/denokv`, built]) {
    if (await runs(path, "--help")) return path;
  }
}

/** Builds denokv; undefined if there is no cargo, or it fails. */
export async function buildDenokv(): Promise<string | undefined> {
  for (const cargo of ["cargo", `${home}/.cargo/bin/cargo`]) {
    if (!await runs(cargo, "--version")) continue;
    console.error(`Building denokv ${VERSION}, once: it takes ten minutes`);
    const { success } = await new Deno.Command(cargo, {
      args: ["install", "--locked", `denokv@${VERSION}`, "--root", kept],
      stdout: "null",
      stderr: "inherit",
    }).output();
    return success ? built : undefined;
  }
}

async function runs(program: string, argument: string): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(program, {
      args: [argument],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch {
    return false;
  }
}

/** A denokv server that can stop and come back with all its data. */
export class Denokv implements AsyncDisposable {
  readonly url = `http://127.0.0.1:${freePort()}`;
  readonly #directory = Deno.makeTempDirSync({ prefix: "denokv-" });
  #child?: Deno.ChildProcess;

  constructor(readonly program: string) {}

  static async start(program: string): Promise<Denokv> {
    const denokv = new Denokv(program);
    await denokv.start();
    return denokv;
  }

  async start(accessToken = ACCESS_TOKEN): Promise<void> {
    this.#child = new Deno.Command(this.program, {
      args: [
        ...["--sqlite-path", `${this.#directory}/tools.db`, "serve"],
        ...["--addr", new URL(this.url).host, "--access-token", accessToken],
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await until(async () => {
      try {
        await (await fetch(this.url)).body?.cancel();
        return true;
      } catch {
        return false;
      }
    });
  }

  /** Stalls the server: all that it is sent meanwhile is carried out later. */
  stop(): Promise<void> {
    this.#child!.kill("SIGSTOP");
    return Promise.resolve();
  }

  /** Lets the server go on. */
  goOn(): Promise<void> {
    this.#child!.kill("SIGCONT");
    return Promise.resolve();
  }

  /** Kills the server. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    child?.kill("SIGKILL");
    await child?.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#directory, { recursive: true });
  }
}
