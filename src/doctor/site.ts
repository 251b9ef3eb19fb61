/**
 * A server as its clients reach it: from outside, one request at a time.
 *
 * @module
 */
import { isLoopback } from "../loopback.ts";
import { Fault, Skipped } from "./finding.ts";

/** A page on another origin, which the Inspector is in a browser. */
export const OTHER_ORIGIN = "http://localhost:6274";

const TIMEOUT_MILLISECONDS = 10_000;

/** A JSON object from the other side; its members may be anything. */
export type Json = Record<string, unknown>;

/** An answer, read. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** The server under examination. What was fetched once is kept. */
export class Site {
  /** The origin, without a trailing slash. */
  readonly origin: string;
  readonly #fetch: typeof fetch;
  readonly #kept = new Map<string, Promise<unknown>>();

  constructor(url: string, fetcher: typeof fetch = fetch) {
    this.origin = new URL(url).origin;
    this.#fetch = fetcher;
  }

  /** Where clients POST. */
  get mcp(): string {
    return `${this.origin}/mcp`;
  }

  /** Whether only this machine reaches it. */
  get isLocal(): boolean {
    return isLoopback(new URL(this.origin));
  }

  /**
   * Sends one request and follows nothing.
   *
   * @throws {Fault} when no answer comes
   */
  async send(target: string, init: RequestInit = {}): Promise<Answer> {
    const url = new URL(target, this.origin);
    try {
      const response = await this.#fetch(url, {
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
        ...init,
      });
      const { status, headers } = response;
      return { status, headers, text: await response.text() };
    } catch (error) {
      throw unreachable(url, error as Error);
    }
  }

  /**
   * A JSON object at an address.
   *
   * @throws {Fault}
   */
  async readJson(target: string, fix: string): Promise<Json> {
    const { status, text } = await this.send(target, {
      headers: { accept: "application/json" },
    });
    if (status !== 200) {
      throw new Fault(`${target} answers ${status}`, fix);
    }
    return parseObject(target, text, fix);
  }

  /** The answer to a request without credentials, which tells where to sign in. */
  greeting(): Promise<Answer> {
    return this.#keep("greeting", () => this.greet());
  }

  /** {@linkcode Site.greeting}, sent anew with more headers. */
  greet(headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send("/mcp", {
      method: "POST",
      headers: {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "origin": this.origin,
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "doctor", version: "1.0.0" },
        },
      }),
    });
  }

  /** The address in the challenge (RFC 9728 §5.1). */
  resourceMetadataUrl(): Promise<string> {
    return this.#keep("resource metadata URL", async () => {
      const { status, headers } = await this.greeting();
      const url = /resource_metadata="([^"]*)"/.exec(
        headers.get("www-authenticate") ?? "",
      )?.[1];
      if (status === 401 && url) return url;
      throw new Skipped("nobody signs in here");
    });
  }

  /** The protected resource's metadata (RFC 9728). */
  resourceMetadata(): Promise<Json> {
    return this.#keep("resource metadata", async () =>
      this.readJson(
        await this.resourceMetadataUrl(),
        "Serve the document at the address in the challenge.",
      ));
  }

  /** The first authorization server that the resource names. */
  issuer(): Promise<string> {
    return this.#keep("issuer", async () => {
      const { authorization_servers } = await this.resourceMetadata();
      const [issuer] = Array.isArray(authorization_servers)
        ? authorization_servers
        : [];
      if (typeof issuer === "string" && URL.canParse(issuer)) return issuer;
      throw new Fault(
        "the resource's metadata names no authorization server",
        "Put the issuer into authorization_servers.",
      );
    });
  }

  /** The authorization server's metadata (RFC 8414). */
  serverMetadata(): Promise<Json> {
    return this.#keep("server metadata", async () => {
      const issuer = new URL(await this.issuer());
      const path = issuer.pathname === "/" ? "" : issuer.pathname;
      return await this.readJson(
        `${issuer.origin}/.well-known/oauth-authorization-server${path}`,
        "Serve the metadata of RFC 8414 there.",
      );
    });
  }

  /**
   * An endpoint that the server metadata names.
   *
   * @throws {Fault}
   */
  async endpoint(name: string): Promise<string> {
    const url = (await this.serverMetadata())[`${name}_endpoint`];
    if (typeof url === "string" && URL.canParse(url)) return url;
    throw new Fault(
      `the server metadata names no ${name}_endpoint`,
      `Add ${name}_endpoint to it.`,
    );
  }

  #keep<T>(name: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name) as Promise<T> | undefined;
    if (kept) return kept;
    const promise = read();
    this.#kept.set(name, promise);
    return promise;
  }
}

/**
 * Parses a JSON object.
 *
 * @throws {Fault}
 */
export function parseObject(target: string, text: string, fix: string): Json {
  try {
    const value = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value;
    }
  } catch {
    // Told below, as for any other text that is no object.
  }
  throw new Fault(`${target} does not answer with a JSON object`, fix);
}

/** Why a server is not reached, and what to do about it. */
interface Obstacle {
  /** What `fetch` says then. */
  said: RegExp;
  found: string;
  fix: string;
}

const OBSTACLES: readonly Obstacle[] = [
  {
    said: /TimeoutError/,
    found: "does not answer within 10 seconds",
    fix: "Look at the server's log, and at any proxy in front of it.",
  },
  {
    said: /certificate/,
    found: "has no certificate that clients trust",
    fix: "Install one for this very host name, with its intermediates.",
  },
  {
    said: /dns error/,
    found: "is no name that leads anywhere",
    fix: "Mind the spelling, and the domain's records.",
  },
  {
    said: /invalid HTTP version|InvalidContentType|corrupt message/,
    found: "speaks another protocol",
    fix: "Mind https and http in the address.",
  },
  {
    said: /./,
    found: "cannot be reached",
    fix:
      "Start the server (deno task dev), and mind HOST, PORT and any firewall.",
  },
];

function unreachable({ origin }: URL, error: Error): Fault {
  const words = `${error} ${error.cause}`;
  const { found, fix } = OBSTACLES.find(({ said }) => said.test(words))!;
  return new Fault(`${origin} ${found}`, fix);
}
