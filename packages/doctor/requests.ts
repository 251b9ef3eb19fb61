/**
 * Requests to the server under examination, one at a time.
 *
 * @module
 */
import { isLoopback } from "../../src/core/net/url.ts";
import {
  Client,
  type ClientOptions,
  type Json,
  type Revision,
} from "../client/mod.ts";
import { type Answer, parseObject, readBody, unreachable } from "./answer.ts";
import { Fault } from "./finding.ts";

/** An origin other than the server's: that of the Inspector in a browser. */
export const OTHER_ORIGIN = "http://localhost:6274";

const TIMEOUT_MILLISECONDS = 10_000;

/** The requests to one server. Answers are remembered. */
export class Requests {
  /** The origin, without a trailing slash. */
  readonly origin: string;
  #mcp: string;
  readonly #kept = new Map<string, Promise<unknown>>();

  constructor(
    private readonly url: string,
    private readonly fetcher: typeof fetch = fetch,
  ) {
    this.origin = new URL(url).origin;
    this.#mcp = endpointsFor(url)[0];
  }

  /** The address to which clients POST. */
  get mcp(): string {
    return this.#mcp;
  }

  /** The server's own address: `mcp` without its last segment. */
  get base(): string {
    return this.#mcp.replace(/\/(mcp)?$/, "");
  }

  /**
   * Finds the address to which clients POST. People give the address of the
   * server, but servers have their endpoints at different paths below it.
   *
   * @throws {Fault} when nothing answers
   */
  async locate(): Promise<void> {
    for (const endpoint of endpointsFor(this.url)) {
      this.#kept.delete("first answer");
      this.#mcp = endpoint;
      const { status } = await this.#firstAnswer();
      if (status !== 404 && status !== 405) return;
    }
    [this.#mcp] = endpointsFor(this.url);
  }

  /** True if only this machine can reach the server. */
  get isLocal(): boolean {
    return isLoopback(new URL(this.origin));
  }

  /** Sends a request and follows no redirect. @throws {Fault} */
  async send(target: string, init: RequestInit = {}): Promise<Answer> {
    const url = new URL(target, this.origin);
    try {
      const response = await this.fetcher(url, {
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
        ...init,
      });
      const { status, headers } = response;
      return { status, headers, text: await readBody(response, init.method) };
    } catch (error) {
      throw unreachable(url, error);
    }
  }

  /** Reads a JSON object at an address. @throws {Fault} */
  async readJson(target: string, fix: string): Promise<Json> {
    const { status, text } = await this.send(target, {
      headers: { accept: "application/json" },
    });
    if (status !== 200) throw new Fault(`${target} answers ${status}`, fix);
    return parseObject(target, text, fix);
  }

  /**
   * Returns the answer to a request without credentials; its challenge names
   * the sign-in.
   *
   * @throws {Fault} when no one may call at this address
   */
  greeting(): Promise<Answer> {
    return this.keep("greeting", async () => {
      const answer = await this.#firstAnswer();
      if (answer.status !== 403) return answer;
      throw new Fault(
        `answers 403 to who calls it by ${this.origin}`,
        baseUrlFix(this),
      );
    });
  }

  #firstAnswer(): Promise<Answer> {
    return this.keep("first answer", async () => {
      const answer = await this.greet();
      if (answer.status !== 400) return answer;
      // A server with only 2026-07-28 has no initialize.
      const discovered = await this.discover();
      return discovered.status === 200 ? discovered : answer;
    });
  }

  /** Sends the request of `greeting()` again, with further headers. */
  greet(headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#ask("2025-11-25", "initialize", headers);
  }

  /** Sends `server/discover` of 2026-07-28, without credentials. */
  discover(): Promise<Answer> {
    return this.#ask("2026-07-28", "server/discover");
  }

  async #ask(
    revision: Revision,
    method: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const { headers, body } = await this.client({ revision }).encode(method);
    return await this.send(this.mcp, {
      method: "POST",
      headers: { ...headers, origin: this.origin, ...more },
      body,
    });
  }

  /** Makes a client that sends its requests by {@linkcode Requests.fetch}. */
  client(options: Omit<ClientOptions, "url">): Client {
    return new Client({
      url: this.mcp,
      clientInfo: { name: "doctor", version: "1.0.0" },
      fetch: async ({ url, method, headers, body }) =>
        await this.fetch(url, {
          method,
          headers: { ...Object.fromEntries(headers), origin: this.origin },
          body: body && await new Response(body).text(),
        }),
      ...options,
    });
  }

  /** Sends a request as `fetch` does, and reads its answer. @throws {Fault} */
  readonly fetch: typeof fetch = async (input, init) => {
    const { text, ...answer } = await this.send(String(input), init);
    const headers = new Headers(answer.headers);
    const type = headers.get("content-type") ?? "";
    // Of a stream only one message is read.
    if (/^text\/event-stream/.test(type)) {
      headers.set("content-type", "application/json");
    }
    return new Response(text || null, { status: answer.status, headers });
  };

  protected keep<T>(name: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name) as Promise<T> | undefined;
    if (kept) return kept;
    const promise = read();
    this.#kept.set(name, promise);
    return promise;
  }
}

/**
 * Describes the fix of a fault that comes from a `BASE_URL` other than the
 * address that clients use.
 */
export function baseUrlFix({ base }: Pick<Requests, "base">): string {
  return `Set BASE_URL=${base}, or call it by the address that it has now.`;
}

/**
 * Lists the addresses to which clients may have to POST, the likeliest first.
 * At `/` one of our servers may be the root. A path may be the endpoint itself,
 * or the address of a server whose endpoint is below it.
 */
function endpointsFor(url: string): string[] {
  const { origin, pathname } = new URL(url);
  const path = pathname.replace(/\/$/, "");
  if (path === "") return [`${origin}/mcp`, `${origin}/`];
  if (path.endsWith("/mcp")) return [origin + path];
  return [`${origin}${path}/mcp`, origin + path];
}
