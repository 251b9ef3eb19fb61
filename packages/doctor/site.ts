/**
 * A server from outside, one request at a time.
 *
 * @module
 */
import { isObject } from "../../src/json.ts";
import { wholeTextOf } from "../../src/thrown.ts";
import { isLoopback } from "../../src/net/loopback.ts";
import {
  Client,
  type ClientOptions,
  type Json,
  type Revision,
} from "../client/mod.ts";
import { Fault, Skipped } from "./finding.ts";

/** Another origin, which is the Inspector's in a browser. */
export const OTHER_ORIGIN = "http://localhost:6274";

const TIMEOUT_MILLISECONDS = 10_000;

const MOST_CHARACTERS = 64 * 2 ** 20;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** The server under examination. Answers are kept. */
export class Site {
  /** The origin, without a trailing slash. */
  readonly origin: string;
  #mcp: string;
  readonly #url: string;
  readonly #fetch: typeof fetch;
  readonly #kept = new Map<string, Promise<unknown>>();

  constructor(url: string, fetcher: typeof fetch = fetch) {
    this.origin = new URL(url).origin;
    this.#mcp = endpointsFor(url)[0];
    this.#url = url;
    this.#fetch = fetcher;
  }

  /** The address to which clients POST. */
  get mcp(): string {
    return this.#mcp;
  }

  /** The server's own address: that of `mcp` without its last segment. */
  get base(): string {
    return this.#mcp.replace(/\/(mcp)?$/, "");
  }

  /**
   * Finds the address to which clients POST. People give the address of the
   * server, and servers have their endpoint at different paths below it.
   *
   * @throws {Fault} when nothing answers
   */
  async locate(): Promise<void> {
    for (const endpoint of endpointsFor(this.#url)) {
      this.#kept.delete("first answer");
      this.#mcp = endpoint;
      const { status } = await this.#firstAnswer();
      if (status !== 404 && status !== 405) return;
    }
    [this.#mcp] = endpointsFor(this.#url);
  }

  /** True if only this machine reaches it. */
  get isLocal(): boolean {
    return isLoopback(new URL(this.origin));
  }

  /**
   * Sends one request and follows no redirect.
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
      return { status, headers, text: await readBody(response, init.method) };
    } catch (error) {
      throw unreachable(url, error);
    }
  }

  /**
   * Reads a JSON object at an address.
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

  /**
   * Gives the answer to a request without credentials; its challenge names the
   * sign-in.
   *
   * @throws {Fault} when no one may call at this address
   */
  greeting(): Promise<Answer> {
    return this.#keep("greeting", async () => {
      const answer = await this.#firstAnswer();
      if (answer.status !== 403) return answer;
      throw new Fault(
        `answers 403 to who calls it by ${this.origin}`,
        baseUrlFix(this),
      );
    });
  }

  #firstAnswer(): Promise<Answer> {
    return this.#keep("first answer", async () => {
      const answer = await this.greet();
      if (answer.status !== 400) return answer;
      // A server with 2026-07-28 alone has no initialize.
      const discovered = await this.discover();
      return discovered.status === 200 ? discovered : answer;
    });
  }

  /**
   * Sends the request of {@linkcode Site.greeting} again, with more headers.
   */
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

  /** Makes a client that sends its requests by {@linkcode Site.fetch}. */
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

  /**
   * Sends a request as `fetch` does, and reads its answer first.
   *
   * @throws {Fault} when no answer comes
   */
  readonly fetch: typeof fetch = async (input, init) => {
    const { text, ...answer } = await this.send(String(input), init);
    const headers = new Headers(answer.headers);
    const type = headers.get("content-type") ?? "";
    // Of a stream, one message is read.
    if (/^text\/event-stream/.test(type)) {
      headers.set("content-type", "application/json");
    }
    return new Response(text || null, { status: answer.status, headers });
  };

  /** Gives the address in the challenge (RFC 9728 §5.1). */
  resourceMetadataUrl(): Promise<string> {
    return this.#keep("resource metadata URL", async () => {
      const { status, headers } = await this.greeting();
      const url = /resource_metadata="([^"]*)"/.exec(
        headers.get("www-authenticate") ?? "",
      )?.[1];
      if (status === 401 && url) return url;
      throw new Skipped("no one signs in here");
    });
  }

  /** Reads the protected resource's metadata (RFC 9728). */
  resourceMetadata(): Promise<Json> {
    return this.#keep("resource metadata", async () => {
      const url = await this.resourceMetadataUrl();
      const fix = "Serve the document at the address in the challenge.";
      const { origin } = URL.parse(url, this.origin) ?? this;
      if (origin === this.origin) return await this.readJson(url, fix);
      try {
        return await this.readJson(url, fix);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        throw new Fault(
          `this server believes it is at ${origin}: ${error.found}`,
          baseUrlFix(this),
        );
      }
    });
  }

  /** Gives the first authorization server that the resource names. */
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

  /** Reads the authorization server's metadata (RFC 8414). */
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
   * Gives an endpoint that the server metadata names.
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

  /**
   * Gives the address at which clients register themselves.
   *
   * @throws {Fault} a warning: it may be what the operator wants
   */
  registrationEndpoint(): Promise<string> {
    return this.#keep("registration endpoint", async () => {
      const metadata = await this.serverMetadata();
      if (metadata.registration_endpoint !== undefined) {
        return await this.endpoint("registration");
      }
      const others = metadata.client_id_metadata_document_supported === true
        ? "with a metadata document (Claude, VS Code), or set up in OAUTH_CLIENTS,"
        : "that are set up in OAUTH_CLIENTS";
      throw new Fault(
        `clients cannot register themselves: only those ${others} can sign in`,
        "Leave OAUTH_REGISTRATION unset, if others are to sign in.",
        "warning",
      );
    });
  }

  #keep<T>(name: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name) as Promise<T> | undefined;
    if (kept) return kept;
    const promise = read();
    this.#kept.set(name, promise);
    return promise;
  }
}

/** The fix of whatever comes from another `BASE_URL` than clients use. */
export function baseUrlFix({ base }: Pick<Site, "base">): string {
  return `Set BASE_URL=${base}, or call it by the address that it has now.`;
}

/**
 * Lists the addresses to which clients may have to POST, the likeliest first.
 * `/` is a server of ours at a root; a path is the endpoint itself, or that of
 * a server which has it below.
 */
function endpointsFor(url: string): string[] {
  const { origin, pathname } = new URL(url);
  const path = pathname.replace(/\/$/, "");
  if (path === "") return [`${origin}/mcp`, `${origin}/`];
  if (path.endsWith("/mcp")) return [origin + path];
  return [`${origin}${path}/mcp`, origin + path];
}

/**
 * Reads a body as text. From a stream it reads only the first message that
 * answers, because servers may keep a stream open for ever.
 */
async function readBody(
  response: Response,
  method = "GET",
): Promise<string> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream") || !response.body) {
    return await readText(response);
  }
  if (method === "GET") {
    // Nothing was asked that it could answer.
    await response.body.cancel();
    return "";
  }
  for await (const message of new Client({ url: "" }).messages(response)) {
    if (message.result || message.error) return JSON.stringify(message);
  }
  return "";
}

/** Reads a text up to a bound, because it may have no end. */
async function readText({ body }: Response): Promise<string> {
  let text = "";
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (text.length > MOST_CHARACTERS) break;
  }
  return text.slice(0, MOST_CHARACTERS);
}

/**
 * Parses a JSON object.
 *
 * @throws {Fault}
 */
export function parseObject(target: string, text: string, fix: string): Json {
  try {
    const value = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below, like any other text that is not an object.
  }
  throw new Fault(`${target} does not answer with a JSON object`, fix);
}

/** The reason why a server is not reached, and its fix. */
interface Obstacle {
  /** A pattern for the message of `fetch`. */
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

function unreachable({ origin }: URL, error: unknown): Fault {
  const words = wholeTextOf(error);
  const { found, fix } = OBSTACLES.find(({ said }) => said.test(words))!;
  return new Fault(`${origin} ${found}`, fix);
}
