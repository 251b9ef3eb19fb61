/**
 * The server under examination: its metadata, and a sign-in of a person there.
 * No browser is opened; the person is shown the address.
 *
 * @module
 * @see RFC 9728, RFC 8414
 */
import { type Json, SignIn } from "../client/mod.ts";
import { pause } from "../../src/core/clock.ts";
import { describe, type ServerDescription } from "./conversation.ts";
import { Fault, Skipped } from "./finding.ts";
import { baseUrlFix, Requests } from "./requests.ts";

/** The browser in which the person signs in. */
export interface Browser {
  /** The redirect URI, at a port of this machine. */
  readonly redirectUri: string;
  /** Shows the address of the sign-in to the person. */
  show(address: string): void;
  /** Waits for the authorization response that has this `state`. */
  response(state: string): Promise<URLSearchParams>;
}

/** A connection on which requests are written by hand. */
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
  /** True if the server's settings are known, and name no proxy. */
  namesNoProxy?: boolean;
  /**
   * The longest wait for an answer to an unfinished request; 15,000 by default.
   */
  halfSentMilliseconds?: number;
}

/** The server under examination. Answers are remembered. */
export class Site extends Requests {
  constructor(url: string, readonly options: SiteOptions) {
    super(url, options.fetch);
  }

  /**
   * Returns the URL of the resource metadata that the challenge names (RFC 9728
   * §5.1).
   */
  resourceMetadataUrl(): Promise<string> {
    return this.keep("resource metadata URL", async () => {
      const { status, headers } = await this.greeting();
      const { metadataUrl } = SignIn.parseChallenge(headers);
      if (status === 401 && metadataUrl) return metadataUrl;
      throw new Skipped("no one signs in here");
    });
  }

  /** Reads the protected resource's metadata (RFC 9728). */
  resourceMetadata(): Promise<Json> {
    return this.keep("resource metadata", async () => {
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
    return this.keep("issuer", async () => {
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
    return this.keep("server metadata", async () => {
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
   * Returns the address at which clients register themselves.
   *
   * @throws {Fault} a warning if there is none, because an operator may want
   * that
   */
  registrationEndpoint(): Promise<string> {
    return this.keep("registration endpoint", async () => {
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
   * Sends the beginning of a request. Returns true if the server answers or
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
   * Asks the server, with credentials, for its description of itself.
   *
   * @throws {Fault}
   * @throws {Skipped}
   */
  description(): Promise<ServerDescription> {
    return this.keep("description", async () => {
      const { status } = await this.greeting();
      const { token, browser } = this.options;
      if (token !== undefined || status !== 401) {
        return await describe(this, token);
      }
      if (browser) return await describe(this, await this.#signIn(browser));
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
