/**
 * The command as a process, and servers for it to call.
 *
 * @module
 */
// The import of send_once.ts makes an HTTP client. If a test imported it first,
// the client would be reported as a leak of that test.
import "../../../src/core/net/send_once.ts";
import { createServer } from "../../../src/server.ts";
import type { CreateServerOptions } from "../../../src/core/server/server_options.ts";
import { SILENT } from "../../../tests/kit/log.ts";
import type { Json } from "../../../tests/kit/message.ts";
import { until } from "../../../tests/kit/wait.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

/** The end of a command. */
export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** The surroundings of a command. */
export interface CallOptions {
  env?: Record<string, string>;
  /** The text of standard input. */
  stdin?: string;
  /** True to end the command when it asks someone to sign in. */
  isAlone?: boolean;
  /** True to leave standard input open: {@linkcode Running.type} writes more. */
  isOpen?: boolean;
}

/** A command that runs. */
export class Running {
  err = "";
  readonly ended: Promise<Ended>;
  readonly #child: Deno.ChildProcess;
  readonly #isOpen: boolean;

  constructor(
    args: readonly string[],
    { env = {}, stdin, isAlone = false, isOpen = false }: CallOptions = {},
  ) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "packages/call/mod.ts", ...args],
      cwd: ROOT,
      clearEnv: true,
      env: {
        PATH: Deno.env.get("PATH")!,
        NO_COLOR: "1",
        XDG_CONFIG_HOME: "/nonexistent",
        ...base(),
        ...env,
      },
      stdin: stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#isOpen = isOpen;
    this.ended = this.#read(stdin, isAlone);
  }

  /** Waits until standard error matches, and returns the match. */
  async reported(pattern: RegExp): Promise<RegExpExecArray> {
    await until(() => pattern.test(this.err));
    return pattern.exec(this.err)!;
  }

  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  async #read(stdin: string | undefined, isAlone: boolean): Promise<Ended> {
    const writing = stdin === undefined ? undefined : this.#write(stdin);
    const listening = (async () => {
      const decoded = this.#child.stderr.pipeThrough(new TextDecoderStream());
      for await (const part of decoded) {
        this.err += part;
        if (isAlone && part.includes("Sign in here")) this.interrupt();
      }
    })();
    const out = await new Response(this.#child.stdout).text();
    await Promise.all([listening, writing]);
    if (this.#isOpen) await this.#child.stdin.close().catch(() => {});
    const { code } = await this.#child.status;
    return { code, out, err: this.err };
  }

  /** Writes to standard input, as a person who types. */
  async type(text: string): Promise<void> {
    await this.#write(text);
  }

  async #write(text: string): Promise<void> {
    const writer = this.#child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(text));
    if (this.#isOpen) writer.releaseLock();
    else await writer.close();
  }
}

/** Settings of Deno itself, which the processes share. */
function base(): Record<string, string> {
  const names = ["DENO_DIR", "HOME"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Runs a command to its end. */
export async function call(
  args: readonly string[],
  options?: CallOptions,
): Promise<Ended> {
  return await new Running(args, options).ended;
}

/** A server that listens. `await using` ends it. */
export interface Listening extends AsyncDisposable {
  /** `http://127.0.0.1:49152` */
  origin: string;
  /** The address of its `/mcp`. */
  url: string;
}

/** Serves on a port that the system picks. */
export function listen(
  answer: (request: Request) => Response | Promise<Response>,
): Listening {
  const http = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    answer,
  );
  const origin = `http://127.0.0.1:${http.addr.port}`;
  return {
    origin,
    url: `${origin}/mcp`,
    [Symbol.asyncDispose]: () => http.shutdown(),
  };
}

/**
 * Serves a server that is not ours: an answer is the result of a request, or a
 * response in place of one.
 */
export function answering(
  answer: (method: string, params: Json) => Json | Response,
): Listening {
  return listen(async (request) => {
    if (request.method !== "POST") return new Response("", { status: 404 });
    const { id, method, params } = await request.json();
    if (id === undefined) return new Response(null, { status: 202 });
    const result = answer(method, params);
    if (result instanceof Response) return result;
    return Response.json({ jsonrpc: "2.0", id, result });
  });
}

/** Starts a server of ours, with settings. */
export async function serve(
  options: Partial<CreateServerOptions>,
  env: Record<string, string> = {},
): Promise<Listening> {
  const started = Promise.withResolvers<ReturnType<typeof createServer>>();
  const listening = listen(async (request) =>
    await (await started.promise).fetch(request)
  );
  const kv = await Deno.openKv(":memory:");
  const server = createServer({
    name: "called",
    version: "1.0.0",
    log: SILENT,
    kv,
    ...options,
    env: { BASE_URL: listening.origin, ...env },
  });
  started.resolve(server);
  return {
    ...listening,
    async [Symbol.asyncDispose]() {
      server.stop();
      await listening[Symbol.asyncDispose]();
      await server.close();
      kv.close();
      // A watch ends with its database, a moment later.
      await new Promise((resolve) => setTimeout(resolve, 0));
    },
  };
}
