/**
 * Several processes behind one address, each of which may die at any time.
 *
 * @module
 */
import { type ServerProcess, startServer } from "../interop/server_process.ts";
import { BASE_URL } from "./kit.ts";

/** Processes on one database file; requests go to whichever is current. */
export class Processes implements AsyncDisposable {
  #running: ServerProcess[] = [];
  #turn = 0;
  #directory = Deno.makeTempDirSync();

  /** @param environment settings beside those of the process */
  constructor(readonly environment: Record<string, string>) {}

  /** The database file that all share. */
  get kvPath(): string {
    return `${this.#directory}/oauth.db`;
  }

  /** Starts one more process. */
  async start(): Promise<void> {
    const port = freePort();
    // It says where people reach it, which is not where it listens.
    const process = await startServer({
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

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
