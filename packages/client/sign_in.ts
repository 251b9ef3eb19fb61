/**
 * Signing in to an MCP server as its client: discovery, registration, and the
 * authorization code flow with PKCE.
 *
 * @module
 * @see RFC 9728, RFC 8414, RFC 7591, RFC 6749 §4.1, RFC 7636
 */
import type { Json } from "./client.ts";

/**
 * A sign-in that goes on in a browser; plain data, so that it can be stored.
 */
export interface SignInRequest {
  /** The address that the person opens. */
  url: string;
  clientId: string;
  redirectUri: string;
  state: string;
  codeVerifier: string;
  tokenEndpoint: string;
  resource: string;
}

/** Tokens of a server. */
export interface Tokens {
  accessToken: string;
  refreshToken?: string;
  /** Epoch milliseconds. */
  expiresMilliseconds?: number;
}

/** The options of a sign-in. */
export interface SignInOptions {
  /** The address of `/mcp`. */
  url: string;
  /** The address to which the browser returns. */
  redirectUri: string;
  clientName: string;
  /** Scopes, separated by spaces; by default those that the server names. */
  scope?: string;
  /** Sends requests; the global `fetch` by default. */
  fetch?: typeof fetch;
}

/**
 * Signs in to MCP servers. Like `Client`, the class uses nothing of its module.
 */
export class SignIn {
  /**
   * Registers a client and starts a sign-in that goes on in a browser.
   *
   * @throws {Error} when the server offers no sign-in that works
   */
  static async begin(
    { url, redirectUri, clientName, scope, fetch = globalThis.fetch }:
      SignInOptions,
  ): Promise<SignInRequest> {
    const { resource, authorization_servers: [issuer], scopes_supported } =
      await SignIn.#resourceMetadata(url, fetch);
    const server = await SignIn.#json(
      SignIn.#wellKnown(issuer, "oauth-authorization-server"),
      fetch,
    );
    const { client_id } = await SignIn.#json(
      `${server.registration_endpoint}`,
      fetch,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          client_name: clientName,
          redirect_uris: [redirectUri],
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          token_endpoint_auth_method: "none",
        }),
      },
    );
    const [state, codeVerifier] = [SignIn.#random(), SignIn.#random()];
    const target = new URL(`${server.authorization_endpoint}`);
    const asked: Record<string, string> = {
      response_type: "code",
      client_id: `${client_id}`,
      redirect_uri: redirectUri,
      code_challenge: await SignIn.#challenge(codeVerifier),
      code_challenge_method: "S256",
      state,
      resource,
    };
    const scopes = scope ?? scopes_supported?.join(" ");
    if (scopes) asked.scope = scopes;
    for (const [name, value] of Object.entries(asked)) {
      target.searchParams.set(name, value);
    }
    return {
      url: target.href,
      clientId: `${client_id}`,
      redirectUri,
      state,
      codeVerifier,
      tokenEndpoint: `${server.token_endpoint}`,
      resource,
    };
  }

  /**
   * Exchanges the authorization response with which the browser returned.
   *
   * @throws {Error} when it is for another sign-in, or the person declined
   */
  static async finish(
    request: SignInRequest,
    response: URLSearchParams,
    fetch: typeof globalThis.fetch = globalThis.fetch,
  ): Promise<Tokens> {
    if (response.get("state") !== request.state) {
      throw new Error("The browser came back with another state");
    }
    const code = response.get("code");
    if (code === null) {
      const reason = response.get("error_description") ??
        response.get("error") ?? "no code";
      throw new Error(`Signing in ended: ${reason}`);
    }
    return await SignIn.#redeem(request, fetch, {
      grant_type: "authorization_code",
      code,
      redirect_uri: request.redirectUri,
      code_verifier: request.codeVerifier,
    });
  }

  /** Exchanges a refresh token. @throws {Error} */
  static async refresh(
    request: SignInRequest,
    refreshToken: string,
    fetch: typeof globalThis.fetch = globalThis.fetch,
  ): Promise<Tokens> {
    return await SignIn.#redeem(request, fetch, {
      grant_type: "refresh_token",
      refresh_token: refreshToken,
    });
  }

  static async #redeem(
    { tokenEndpoint, clientId, resource }: SignInRequest,
    fetch: typeof globalThis.fetch,
    parameters: Record<string, string>,
  ): Promise<Tokens> {
    const { access_token, refresh_token, expires_in } = await SignIn.#json(
      tokenEndpoint,
      fetch,
      {
        method: "POST",
        body: new URLSearchParams({
          ...parameters,
          client_id: clientId,
          resource,
        }),
      },
    );
    return {
      accessToken: `${access_token}`,
      ...(refresh_token !== undefined && { refreshToken: `${refresh_token}` }),
      ...(expires_in !== undefined && {
        expiresMilliseconds: Date.now() + Number(expires_in) * 1000,
      }),
    };
  }

  static async #resourceMetadata(url: string, fetch: typeof globalThis.fetch) {
    const metadata = await SignIn.#json(
      SignIn.#wellKnown(url, "oauth-protected-resource"),
      fetch,
    );
    const { resource, authorization_servers } = metadata;
    if (typeof resource === "string" && Array.isArray(authorization_servers)) {
      return metadata as {
        resource: string;
        authorization_servers: string[];
        scopes_supported?: string[];
      };
    }
    throw new Error(`${url} does not say where to sign in`);
  }

  /**
   * Makes the address of a metadata document: its name comes before the path.
   */
  static #wellKnown(address: string, name: string): string {
    const { origin, pathname } = new URL(address);
    return `${origin}/.well-known/${name}${pathname.replace(/\/$/, "")}`;
  }

  static async #json(
    url: string,
    fetch: typeof globalThis.fetch,
    init?: RequestInit,
  ): Promise<Json> {
    const response = await fetch(url, init);
    const text = await response.text();
    let body: Json = {};
    try {
      body = JSON.parse(text);
    } catch {
      // Reported below by the status, which tells more than the invalid JSON.
    }
    if (response.ok && typeof body === "object" && body !== null) return body;
    const reason = body?.error_description ?? body?.error ?? "";
    throw new Error(`${url} answers ${response.status} ${reason}`.trim());
  }

  static #random(): string {
    return SignIn.#base64url(crypto.getRandomValues(new Uint8Array(32)));
  }

  static async #challenge(verifier: string): Promise<string> {
    const bytes = new TextEncoder().encode(verifier);
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    return SignIn.#base64url(new Uint8Array(digest));
  }

  static #base64url(bytes: Uint8Array): string {
    return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-")
      .replaceAll("/", "_").replaceAll("=", "");
  }
}
