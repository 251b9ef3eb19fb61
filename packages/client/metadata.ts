/**
 * The challenge and the metadata by which a client finds its authorization
 * server, and the data of a sign-in, in plain objects that can be stored.
 *
 * @module
 * @see RFC 9728, RFC 8414, RFC 7591, RFC 6749 §5.1
 */
import type { Json } from "./connection.ts";

/** The parameters of a challenge that concern a client. */
export interface Challenge {
  /** The code of RFC 6750 §3.1, such as `insufficient_scope`. */
  error?: string;
  scope?: string;
  metadataUrl?: string;
}

/** The registration of a client at an authorization server. */
export interface Registration {
  clientId: string;
  redirectUri: string;
  issuer: string;
  resource: string;
  tokenEndpoint: string;
  revocationEndpoint?: string;
}

/** A sign-in that goes on in a browser. */
export interface SignInRequest extends Registration {
  /** The URL that the person opens. */
  url: string;
  state: string;
  codeVerifier: string;
  /** True if the server promises to name its issuer in the response. */
  returnsIssuer: boolean;
}

/** Tokens of a server. */
export interface Tokens {
  accessToken: string;
  refreshToken?: string;
  /** Epoch milliseconds. */
  expiresMilliseconds?: number;
  /** The scopes that were granted, if the server names them. */
  scope?: string;
}

/** A refusal of an authorization server. */
export interface SignInError extends Error {
  /** The HTTP status. */
  status: number;
  /** The code of RFC 6749 §5.2, such as `invalid_grant`. */
  error?: string;
}

/**
 * Reads the metadata of one resource. It sends nothing over http except to this
 * machine, and follows no redirect.
 */
export class Metadata {
  /** @param url the address of the resource, which is `/mcp` */
  protected constructor(
    protected readonly url: string,
    private readonly fetcher: typeof fetch = globalThis.fetch,
  ) {}

  /** Parses `WWW-Authenticate` (RFC 9110 §11.6.1, RFC 9728 §5.1). */
  static parseChallenge(headers: Headers): Challenge {
    const text = headers.get("www-authenticate") ?? "";
    const parameter =
      /(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;
    const found = new Map<string, string>();
    for (const [, name, quoted, token] of text.matchAll(parameter)) {
      const value = quoted?.replaceAll(/\\(.)/g, "$1") ?? token;
      // If several challenges have the parameter, the first one counts.
      if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), value);
    }
    return {
      error: found.get("error"),
      scope: found.get("scope"),
      metadataUrl: found.get("resource_metadata"),
    };
  }

  /** Finds the authorization server of the resource (RFC 9728). */
  protected async ofResource(metadataUrl?: string) {
    const { url } = this;
    const name = "oauth-protected-resource";
    const { resource, authorization_servers, scopes_supported } = await this
      .#first(
        metadataUrl === undefined
          ? [
            Metadata.#wellKnown(url, name),
            `${new URL(url).origin}/.well-known/${name}`,
          ]
          : [metadataUrl],
      );
    const [issuer] = Metadata.list(authorization_servers);
    if (typeof resource !== "string" || issuer === undefined) {
      throw new Error(
        `${url} does not say where to sign in: its metadata must name resource and authorization_servers`,
      );
    }
    // RFC 9728 §3.3: a token for another resource, even one at an address above
    // this one, would give access to all that is there.
    if (this.checkAddress(resource).href !== new URL(url).href) {
      throw new Error(`${url} says that it is ${resource}`);
    }
    return { resource, issuer, resourceScopes: scopes_supported };
  }

  /** Reads the metadata of an authorization server (RFC 8414). */
  protected async ofServer(issuer: string): Promise<Json> {
    const openid = "openid-configuration";
    const server = await this.#first([
      Metadata.#wellKnown(issuer, "oauth-authorization-server"),
      Metadata.#wellKnown(issuer, openid),
      `${issuer.replace(/\/$/, "")}/.well-known/${openid}`,
    ]);
    if (URL.parse(`${server.issuer}`)?.href !== new URL(issuer).href) {
      throw new Error(`${issuer} says that it is ${server.issuer}`);
    }
    const methods = Metadata.list(server.code_challenge_methods_supported);
    if (methods.includes("S256")) return server;
    throw new Error(`${issuer} does not offer PKCE with S256`);
  }

  /**
   * Makes a well-known address (RFC 8615): the name is between origin and path.
   */
  static #wellKnown(address: string, name: string): string {
    const { origin, pathname } = new URL(address);
    return `${origin}/.well-known/${name}${pathname.replace(/\/$/, "")}`;
  }

  /** Reads the first of the documents that exists. */
  async #first(urls: readonly string[]): Promise<Json> {
    let failure: unknown;
    for (const url of new Set(urls)) {
      try {
        return await this.json(url);
      } catch (error) {
        failure ??= error;
        const { status } = error as SignInError;
        if (status === undefined || status >= 500) throw error;
      }
    }
    throw failure;
  }

  /**
   * Checks that an address is https. It may be http on this machine only if the
   * resource is on this machine too: a resource elsewhere could otherwise reach
   * programs that listen here.
   */
  protected checkAddress(value: unknown): URL {
    const isLocal = (url: URL | null) =>
      url?.protocol === "http:" &&
      /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
    const url = URL.parse(`${value}`);
    const isSafe = url?.protocol === "https:" ||
      isLocal(url) && isLocal(URL.parse(this.url));
    if (url && isSafe) return url;
    throw new Error(`Signing in needs an https address, not ${value}`);
  }

  protected async send(target: unknown, init?: RequestInit) {
    const { fetcher } = this;
    return await fetcher(this.checkAddress(target), {
      ...init,
      redirect: "error",
    });
  }

  /** Requests a JSON object of at most 1 Mi characters. @throws {SignInError} */
  protected async json(target: unknown, init?: RequestInit): Promise<Json> {
    const response = await this.send(target, init);
    let text = "";
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    for (let part; (part = await reader?.read()) && !part.done;) {
      text += decoder.decode(part.value, { stream: true });
      if (text.length <= 2 ** 20) continue;
      await reader!.cancel();
      throw new Error(`${this.checkAddress(target)} answers too much`);
    }
    let body: Json = {};
    try {
      body = JSON.parse(text);
    } catch {
      // The error is reported below, by the status, which tells more than the
      // text.
    }
    const isObject = typeof body === "object" && body !== null;
    if (response.ok && isObject) return body;
    const { error, error_description } = isObject ? body : {};
    const reason = error_description ?? error ?? "";
    const words = `${
      this.checkAddress(target)
    } answers ${response.status} ${reason}`
      .trim();
    throw Object.assign(new Error(words), { status: response.status, error });
  }

  protected static list(value: unknown): string[] {
    return Array.isArray(value) ? value.map(String) : [];
  }
}
