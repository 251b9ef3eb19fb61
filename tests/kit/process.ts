/**
 * Processes as people start them, and their output.
 *
 * @module
 */
import assert from "node:assert/strict";
import { SettingsTable } from "../../src/core/settings/table.ts";
import { FEATURES } from "../../src/features.ts";
import { type HeadersOf, type Json, rpc } from "./message.ts";
import { RemoteServer } from "./server.ts";

export const REPOSITORY = new URL("../../", import.meta.url);

/** The longest wait: far longer than anything here takes. */
const PATIENCE_MILLISECONDS = 120_000;

export interface ProcessOptions {
  command?: string;
  cwd?: string | URL;
  /** Settings besides `PORT=0`, which lets the system pick one. */
  env?: Record<string, string>;
  /** True if the process gets a terminal. */
  terminal?: boolean;
}

/** A process and all that it starts; the output is read to its end. */
export class Process implements AsyncDisposable {
  output = "";
  #child: Deno.ChildProcess;
  #ended: Promise<Deno.CommandStatus>;
  #onOutput = () => {};

  constructor(args: readonly string[], options: ProcessOptions = {}) {
    const { command = Deno.execPath(), cwd = REPOSITORY, env } = options;
    const [program, ...rest] = options.terminal
      ? [
        "script",
        "-qefc",
        [command, ...args].map(quote).join(" "),
        "/dev/null",
      ]
      : [command, ...args];
    this.#child = new Deno.Command(program, {
      args: rest,
      cwd,
      clearEnv: true,
      // A process group of its own: `npx` and tasks leave children behind when
      // killed.
      detached: true,
      env: { ...surroundings(), PORT: "0", NO_COLOR: "1", ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const { stdout, stderr, status } = this.#child;
    this.#ended = Promise.all([
      status,
      this.#read(stdout),
      this.#read(stderr),
    ]).then(([status]) => status);
  }

  /** Resolves when the output matches the pattern. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(reject, PATIENCE_MILLISECONDS);
    this.#onOutput = () => pattern.test(this.output) && resolve();
    this.#onOutput();
    try {
      await Promise.race([
        promise,
        this.#ended.then(() => assert.match(this.output, pattern)),
      ]);
    } catch {
      throw new Error(`${pattern} is not in the output:\n${this.output}`);
    } finally {
      clearTimeout(timer);
    }
    return pattern.exec(this.output)!;
  }

  /** Returns the origin it listens on, once it does. */
  async url(): Promise<string> {
    return (await this.prints(/(http:\/\/[\w.]+:\d+)\/mcp(?![\w-])/))[1];
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Sends a signal to the whole group. */
  kill(signal: Deno.Signal): void {
    Deno.kill(-this.#child.pid, signal);
  }

  /** Waits for the exit code, with all of the output. */
  async end(patience = PATIENCE_MILLISECONDS): Promise<number> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`It did not end:\n${this.output}`)),
        patience,
      );
    });
    try {
      return (await Promise.race([this.#ended, late])).code;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a signal, unless it has ended already, and waits for its end. */
  async stop(signal: Deno.Signal): Promise<void> {
    try {
      this.kill(signal);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      this.output += text;
      this.#onOutput();
    }
  }
}

/**
 * Copies the environment of the tests, without settings of a server but the
 * token of a database that the suite was given.
 */
function surroundings(): Record<string, string> {
  const environment = Deno.env.toObject();
  for (const variable of new SettingsTable(FEATURES).variables) {
    if (variable !== "DENO_KV_ACCESS_TOKEN") delete environment[variable];
  }
  return environment;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A directory that is removed after the test. */
export class TemporaryDirectory implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync({ prefix: "tool-server-" });

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/**
 * Returns the flags of `deno task start`, with another place for the database.
 */
export async function startArgs(directory?: string): Promise<string[]> {
  const { tasks } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", REPOSITORY)),
  );
  const [, run, ...args] = (tasks.start as string).split(" ");
  return directory === undefined ? [run, ...args] : [
    run,
    `--allow-read=${directory}`,
    `--allow-write=${directory}`,
    ...args,
  ];
}

/** The options for starting a server. */
export interface StartOptions extends ProcessOptions {
  /** The directory of its database, besides `data`. */
  directory?: string;
  /** The program, relative to the repository. */
  entry?: string;
}

/** Starts a server as `deno task start` does, in memory by default. */
export async function startProcess(
  { env, directory, entry = "main.ts", ...options }: StartOptions = {},
): Promise<Process> {
  const [run, ...flags] = (await startArgs(directory))
    .map((arg) => arg === "main.ts" ? entry : arg);
  // An entry elsewhere would find another configuration.
  const args = [run, "--config=deno.json", ...flags];
  return new Process(args, {
    ...options,
    env: { KV_PATH: ":memory:", ...env },
  });
}

/** Posts one message, in a session if there is one. */
export function post(
  url: string,
  message: Json,
  sessionId?: string,
): Promise<Response> {
  const headers: HeadersOf = sessionId ? { "mcp-session-id": sessionId } : {};
  return new RemoteServer(url, headers).post(message);
}

/** Opens a 2025 session and returns its id. */
export async function openSession(url: string): Promise<string> {
  const { id } = await new RemoteServer(url).openSession();
  assert(id);
  return id;
}

/** Returns the status of a call to `health`. */
export async function callHealth(
  url: string,
  sessionId: string,
): Promise<number> {
  const call = rpc("tools/call", { name: "health", arguments: {} });
  const response = await post(url, call, sessionId);
  const { result } = await response.json();
  if (response.ok) assert.equal(result.structuredContent.status, "ok");
  return response.status;
}
