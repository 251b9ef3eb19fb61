/**
 * Opens a source: a document, or an MCP server, at which the author signs in if
 * necessary.
 *
 * @module
 */
import { usageFailure } from "../call/failure.ts";
import { NO_BROWSER } from "../call/receiver.ts";
import { Terminal, terminalSafe } from "../call/terminal.ts";
import { ImportError, parseOpenApi, readSource } from "./document.ts";
import { mcpSource } from "./mcp.ts";
import { openApiSource } from "./openapi.ts";
import type { ImportSource } from "./source.ts";

/**
 * Opens a source.
 *
 * @param options `token`: the access token for an MCP server; `hasPerson`: true
 * if a person can open the URL of a sign-in; `seconds`: the time for an MCP
 * server to respond
 * @throws {ImportError}
 */
export async function openSource(
  source: string,
  options: { token?: string; hasPerson?: boolean; seconds?: number } = {},
): Promise<ImportSource> {
  const { token, seconds = RESPONSE_SECONDS } = options;
  const { hasPerson = new Terminal().hasPerson } = options;
  const server = URL.parse(source);
  if (server && /^https?:.*\/mcp$/.test(server.protocol + server.pathname)) {
    const { href, origin, pathname } = server;
    if (href === origin + pathname) {
      using time = new TimeLeft();
      const send = await accessTo(href, time, hasPerson, token);
      const { signal } = time;
      const inTime = (one: typeof send) => async (request: Request) => {
        time.set(seconds);
        const response = await one(request);
        time.set(seconds);
        return response;
      };
      return await mcpSource(href, signal, inTime(send), inTime(fetch));
    }
    throw new ImportError(
      "The address of an MCP server must have no user, query or fragment: " +
        "they would be written into a file. A key goes into --token.",
    );
  }
  if (token !== undefined) {
    throw usageFailure(
      "--token is for an MCP server, whose address ends in /mcp.",
    );
  }
  try {
    const { text, address } = await readSource(source);
    return openApiSource(await parseOpenApi(text, source, address));
  } catch (error) {
    if (!(error instanceof ImportError) || server === null) throw error;
    if (!/^https?:$/.test(server.protocol)) throw error;
    throw new ImportError(`${error.message} ${OF_A_SERVER}`);
  }
}

const OF_A_SERVER =
  "It was read as a document: the address of an MCP server ends in /mcp.";

const RESPONSE_SECONDS = 30;
const SIGN_IN_SECONDS = 600;

/** A time limit for requests, which restarts with each call of `set()`. */
class TimeLeft implements Disposable {
  readonly #end = new AbortController();
  readonly signal = this.#end.signal;
  #timer?: ReturnType<typeof setTimeout>;

  set(seconds: number): void {
    this[Symbol.dispose]();
    const words = `it did not answer within ${seconds} seconds`;
    this.#timer = setTimeout(
      () => this.#end.abort(new ImportError(words)),
      seconds * 1000,
    );
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/**
 * Makes the function that sends requests to an MCP server, at which the author
 * signs in if necessary.
 */
async function accessTo(
  url: string,
  time: TimeLeft,
  hasPerson: boolean,
  token?: string,
) {
  const { ServerAccess } = await import("../call/access.ts");
  const { KeptSignInFile, signInDirectory } = await import(
    "../call/kept_sign_in.ts"
  );
  const directory = signInDirectory((name) => Deno.env.get(name));
  return new ServerAccess({
    url,
    token,
    headers: {},
    isAnother: true,
    file: directory === undefined
      ? undefined
      : await KeptSignInFile.of(directory, url),
    show(address) {
      time.set(SIGN_IN_SECONDS);
      console.error(`Sign in here: ${terminalSafe(address)}`);
      if (!hasPerson) throw new Error(NO_BROWSER);
    },
    signal: time.signal,
  }).fetch;
}
