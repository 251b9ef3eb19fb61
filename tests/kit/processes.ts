/**
 * Several processes behind one address, each of which may die at any time.
 *
 * @module
 */
import { freshSchema, POSTGRES } from "./databases.ts";
import { freePort } from "./port.ts";
import { BASE_URL } from "./server.ts";
import { type ServerProcess, startServerProcess } from "./server_process.ts";

/** Processes on one database file; requests go to the current one. */
export class Processes implements AsyncDisposable {
  #running: ServerProcess[] = [];
  #turn = 0;
  #directory = Deno.makeTempDirSync();
  readonly #entry: string;
  /** The database that all share. */
  readonly kvPath: string;

  /**
   * @param options the program, and a database that is there already
   */
  constructor(
    readonly environment: Record<string, string>,
    { entry = "tests/flow/whoami_server.ts", kvPath }: {
      entry?: string;
      kvPath?: string;
    } = {},
  ) {
    this.#entry = entry;
    this.kvPath = kvPath ??
      (POSTGRES ? freshSchema() : `${this.#directory}/oauth.db`);
  }

  /** Every process that runs. */
  get all(): readonly ServerProcess[] {
    return this.#running;
  }

  /** Starts one more process. */
  async start(): Promise<void> {
    const port = freePort();
    // The server is told its public address, which is not the one it listens
    // on.
    const process = await startServerProcess({
      entry: this.#entry,
      kvPath: this.kvPath,
      env: { ...this.environment, BASE_URL, PORT: String(port) },
    });
    this.#running.push({ ...process, url: `http://127.0.0.1:${port}` });
  }

  /** The process that answers the next request. */
  get current(): ServerProcess {
    return this.#running[this.#turn % this.#running.length];
  }

  /** Lets the next process answer. */
  next(): void {
    this.#turn++;
  }

  /** Kills the current process; another takes its place. */
  async replace(): Promise<void> {
    const victim = this.current;
    const started = this.start();
    await victim.crash();
    this.#running = this.#running.filter((process) => process !== victim);
    await started;
  }

  /** Sends a request to the current process. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return await fetch(this.current.url + path, {
      method: init.method,
      headers: init.headers,
      body: init.body,
      redirect: "manual",
      signal: init.signal,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#running.map((process) => process[Symbol.asyncDispose]()),
    );
    await Deno.remove(this.#directory, { recursive: true });
  }
}
