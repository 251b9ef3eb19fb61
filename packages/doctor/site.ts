/**
 * The server under examination: requests to it, one at a time, its metadata,
 * and a person's sign-in there. The person is shown the URL, and opens it.
 *
 * @module
 * @see RFC 9728, RFC 8414
 */
import { isLoopback } from "../../src/core/net/url.ts";
import { pause } from "../../src/core/clock.ts";
import {
  Client,
  type ClientOptions,
  type Json,
  type Revision,
  SignIn,
} from "../client/mod.ts";
import { type Answer, parseObject, readBody, unreachable } from "./answer.ts";
import { describeServer, type ServerDescription } from "./conversation.ts";
import { Fault, Skipped } from "./finding.ts";

/** Another origin than the server's: the Inspector's, in a browser. */
export const OTHER_ORIGIN = "http://localhost:6274";

const TIMEOUT_MILLISECONDS = 10_000;

/** The browser in which the person signs in. */
export interface Browser {
  /** The redirect URI, on a loopback port. */
  readonly redirectUri: string;
  /** Shows the URL of the sign-in to the person. */
  show(address: string): void;
  /** Waits for the authorization response that has this `state`. */
  response(state: string): Promise<URLSearchParams>;
}

/** A raw connection on which requests are written. */
export interface Connection {
  write(bytes: Uint8Array): Promise<number>;
  read(into: Uint8Array): Promise<number | null>;
  close(): void;
}

/** The credentials of a client, or the means to get them. */
export interface SiteOptions {
  fetch?: typeof fetch;
  /** An access token, in place of signing in. */
  token?: string;
  /** The browser to sign in with; by default none. */
  browser?: Browser;
  /**
   * Opens a connection to an origin; if absent, no unfinished requests are
   * sent.
   */
  connect?(origin: URL): Promise<Connection>;
  /** True if the server's settings are known and name no proxy. */
  namesNoProxy?: boolean;
  /**
   * The maximum time to wait for the response to an unfinished request; 15,000
   * by default.
   */
  halfSentMilliseconds?: number;
}

/** The server under examination. Responses are cached. */
export class Site {
  readonly origin: string;
  #mcp: string;
  readonly #kept = new Map<string, Promise<unknown>>();

  constructor(private readonly url: string, readonly options: SiteOptions) {
    this.origin = new URL(url).origin;
    this.#mcp = endpointsFor(url)[0];
  }

  /** The URL to which clients POST. */
  get mcp(): string {
    return this.#mcp;
  }

  /** The server's own URL: `mcp` without its last segment. */
  get base(): string {
    return this.#mcp.replace(/\/(mcp)?$/, "");
  }

  /**
   * Finds the URL to which clients POST. People give the server's URL, but
   * servers have their MCP endpoints at different paths below it.
   *
   * @throws {Fault} if nothing responds
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

  /** True if the server is on loopback. */
  get isLocal(): boolean {
    return isLoopback(new URL(this.origin));
  }

  /** Sends a request without following redirects. @throws {Fault} */
  async send(target: string, init: RequestInit = {}): Promise<Answer> {
    const url = new URL(target, this.origin);
    try {
      const response = await (this.options.fetch ?? fetch)(url, {
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

  /** Reads a JSON object at a URL. @throws {Fault} */
  async readJson(target: string, fix: string): Promise<Json> {
    const { status, text } = await this.send(target, {
      headers: { accept: "application/json" },
    });
    if (status !== 200) throw new Fault(`${target} answers ${status}`, fix);
    return parseObject(target, text, fix);
  }

  /**
   * Returns the response to a request without credentials. Its
   * `WWW-Authenticate` challenge points to the sign-in.
   *
   * @throws {Fault} if this is no MCP endpoint
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
      // A server with only 2026-07-28 has no initialize.
      const discovered = await this.discover();
      return discovered.status === 200 ? discovered : answer;
    });
  }

  /** Sends the request of `greeting()` again, with further headers. */
  greet(headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#ask("2025-11-25", "initialize", headers);
  }

  /** Sends `server/discover` (MCP 2026-07-28), without credentials. */
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
   * Sends a request as `fetch` does, and reads its response.
   *
   * @throws {Fault}
   */
  readonly fetch: typeof fetch = async (input, init) => {
    const { text, ...answer } = await this.send(String(input), init);
    const headers = new Headers(answer.headers);
    const type = headers.get("content-type") ?? "";
    // Only one message of a stream is read.
    if (/^text\/event-stream/.test(type)) {
      headers.set("content-type", "application/json");
    }
    return new Response(text || null, { status: answer.status, headers });
  };

  #keep<T>(name: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name) as Promise<T> | undefined;
    if (kept) return kept;
    const promise = read();
    this.#kept.set(name, promise);
    return promise;
  }

  /**
   * Returns the URL of the resource metadata that the challenge names (RFC 9728
   * §5.1).
   */
  resourceMetadataUrl(): Promise<string> {
    return this.#keep("resource metadata URL", async () => {
      const { status, headers } = await this.greeting();
      const { metadataUrl } = SignIn.parseChallenge(headers);
      if (status === 401 && metadataUrl) return metadataUrl;
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

  /** Returns the first authorization server that the resource names. */
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

  /** Returns an endpoint that the server metadata names. @throws {Fault} */
  async endpoint(name: string): Promise<string> {
    const url = (await this.serverMetadata())[`${name}_endpoint`];
    if (typeof url === "string" && URL.canParse(url)) return url;
    throw new Fault(
      `the server metadata names no ${name}_endpoint`,
      `Add ${name}_endpoint to it.`,
    );
  }

  /**
   * Returns the registration endpoint.
   *
   * @throws {Fault} a warning if there is none, because an operator may want
   * that
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

  /**
   * Sends the beginning of a request. Returns true if the server responds or
   * closes the connection in time.
   *
   * @throws {Skipped} if no connection can be opened
   */
  async endsHalfSent(text: string): Promise<boolean> {
    const { connect, halfSentMilliseconds = 15_000 } = this.options;
    if (!connect) throw new Skipped("no proxy is in front");
    const connection = await connect(new URL(this.origin)).catch(() => {
      throw new Skipped("no connection can be opened without a proxy");
    });
    const over = new AbortController();
    const end = async () => {
      await connection.write(new TextEncoder().encode(text));
      await connection.read(new Uint8Array(1));
    };
    try {
      return await Promise.race([
        // A connection that was reset has ended too.
        end().then(() => true, () => true),
        pause(halfSentMilliseconds, over.signal).then(() => false),
      ]);
    } finally {
      over.abort();
      connection.close();
    }
  }

  /**
   * Reads the server's description of itself, with credentials.
   *
   * @throws {Fault}
   * @throws {Skipped}
   */
  description(): Promise<ServerDescription> {
    return this.#keep("description", async () => {
      const { status } = await this.greeting();
      const { token, browser } = this.options;
      const clientOf: typeof this.client = (options) => this.client(options);
      if (token !== undefined || status !== 401) {
        return await describeServer(clientOf, token);
      }
      if (browser) {
        return await describeServer(clientOf, await this.#signIn(browser));
      }
      throw new Skipped("needs a token: --token");
    });
  }

  /** Gets an access token for the server's `resource`. @throws {Fault} */
  async #signIn(browser: Browser): Promise<string> {
    const { fetch, mcp: url } = this;
    try {
      const request = await SignIn.begin({
        url,
        metadataUrl: await this.resourceMetadataUrl(),
        redirectUri: browser.redirectUri,
        clientName: "Doctor",
        fetch,
      });
      browser.show(request.url);
      const response = await browser.response(request.state);
      return (await SignIn.finish(request, response, fetch)).accessToken;
    } catch (error) {
      if (error instanceof Fault || error instanceof Skipped) throw error;
      throw new Fault(
        `signing in fails: ${(error as Error).message}`,
        "Sign in and approve, or give a token: --token.",
      );
    }
  }
}

/**
 * Describes the fix of a fault that is caused by a `BASE_URL` other than the
 * URL that clients use.
 */
export function baseUrlFix({ base }: Pick<Site, "base">): string {
  return `Set BASE_URL=${base}, or call it by the address that it has now.`;
}

/**
 * Lists the URLs that may be the MCP endpoint, the likeliest first. The root of
 * an origin may be one of our servers. A path may be the MCP endpoint itself,
 * or a server whose endpoint is below it.
 */
function endpointsFor(url: string): string[] {
  const { origin, pathname } = new URL(url);
  const path = pathname.replace(/\/$/, "");
  if (path === "") return [`${origin}/mcp`, `${origin}/`];
  if (path.endsWith("/mcp")) return [origin + path];
  return [`${origin}${path}/mcp`, origin + path];
}
