/**
 * Signing in to an MCP server as its client: discovery, registration, and the
 * authorization code flow with PKCE.
 *
 * @module
 * @see RFC 9728, RFC 8414, RFC 7591, RFC 6749 §4.1, RFC 7636, RFC 9207
 */
import type { Json } from "./client.ts";

/** A client's place at an authorization server; plain data. */
export interface Registration {
  clientId: string;
  redirectUri: string;
  issuer: string;
  resource: string;
  tokenEndpoint: string;
  revocationEndpoint?: string;
}

/**
 * A sign-in that goes on in a browser; plain data, so that it can be stored.
 */
export interface SignInRequest extends Registration {
  /** The address that the person opens. */
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

export interface SignInOptions {
  /** The address of `/mcp`. */
  url: string;
  /** The address to which the browser returns. */
  redirectUri: string;
  clientName: string;
  /** A client ID at this issuer; without one the client registers. */
  registered?: { clientId: string; issuer?: string };
  /**
   * The address in the server's challenge; by default the well-known one of
   * the server.
   */
  metadataUrl?: string;
  /** Scopes, separated by spaces; by default those that the server names. */
  scope?: string;
  /** Asks for a refresh token where that needs a scope. */
  isLasting?: boolean;
  /** Sends requests; the global `fetch` by default. */
  fetch?: typeof fetch;
}

/** A refusal of an authorization server. */
export interface SignInError extends Error {
  /** The HTTP status. */
  status: number;
  /** The code of RFC 6749 §5.2, such as `invalid_grant`. */
  error?: string;
}

/**
 * Signs in to MCP servers. Like `Client`, the class uses nothing of its module.
 * It sends nothing over http except to this machine, and follows no redirect.
 */
export class SignIn {
  /**
   * Registers a client and starts a sign-in that goes on in a browser.
   *
   * @throws {Error} when the server offers no sign-in that works
   */
  static async begin(options: SignInOptions): Promise<SignInRequest> {
    const { url, redirectUri, registered, fetch = globalThis.fetch } = options;
    const { resource, issuer, resourceScopes } = await SignIn.#resource(
      url,
      options.metadataUrl,
      fetch,
    );
    const server = await SignIn.#server(issuer, url, fetch);
    const isKnown = registered &&
      (registered.issuer === undefined || registered.issuer === issuer);
    const clientId = isKnown
      ? registered.clientId
      : await SignIn.#register(server, options);
    const [state, codeVerifier] = [SignIn.#random(), SignIn.#random()];
    const target = SignIn.#address(server.authorization_endpoint, url);
    const scopes = new Set(
      options.scope?.split(" ").filter(Boolean) ?? SignIn.#list(resourceScopes),
    );
    const lasting = "offline_access";
    if (
      options.isLasting && SignIn.#list(server.scopes_supported)
        .includes(lasting)
    ) scopes.add(lasting);
    const asked: Record<string, string> = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: await SignIn.#challenge(codeVerifier),
      code_challenge_method: "S256",
      state,
      resource,
      ...(scopes.size > 0 && { scope: [...scopes].join(" ") }),
    };
    for (const [name, value] of Object.entries(asked)) {
      target.searchParams.set(name, value);
    }
    const { revocation_endpoint } = server;
    return {
      url: target.href,
      clientId,
      redirectUri,
      issuer,
      resource,
      tokenEndpoint: SignIn.#address(server.token_endpoint, url).href,
      ...(revocation_endpoint !== undefined && {
        revocationEndpoint: SignIn.#address(revocation_endpoint, url).href,
      }),
      state,
      codeVerifier,
      returnsIssuer:
        server.authorization_response_iss_parameter_supported === true,
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
    const issuer = response.get("iss");
    if (issuer === null ? request.returnsIssuer : issuer !== request.issuer) {
      throw new Error(
        `The browser came back from ${issuer ?? "no issuer"}, not from ` +
          request.issuer,
      );
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

  /** Exchanges a refresh token. @throws {SignInError} */
  static async refresh(
    registration: Registration,
    refreshToken: string,
    fetch: typeof globalThis.fetch = globalThis.fetch,
  ): Promise<Tokens> {
    return await SignIn.#redeem(registration, fetch, {
      grant_type: "refresh_token",
      refresh_token: refreshToken,
    });
  }

  /** Revokes a token, if the server has that (RFC 7009). */
  static async revoke(
    { revocationEndpoint, clientId, resource }: Registration,
    token: string,
    fetch: typeof globalThis.fetch = globalThis.fetch,
  ): Promise<void> {
    if (revocationEndpoint === undefined) return;
    const address = SignIn.#address(revocationEndpoint, resource);
    const response = await fetch(address, {
      method: "POST",
      body: new URLSearchParams({ token, client_id: clientId }),
      redirect: "error",
    });
    await response.body?.cancel();
    if (!response.ok) {
      throw new Error(`${revocationEndpoint} answers ${response.status}`);
    }
  }

  static async #redeem(
    { tokenEndpoint, clientId, resource }: Registration,
    fetch: typeof globalThis.fetch,
    parameters: Record<string, string>,
  ): Promise<Tokens> {
    const { access_token, refresh_token, expires_in, scope, token_type } =
      await SignIn.#json(tokenEndpoint, resource, fetch, {
        method: "POST",
        body: new URLSearchParams({
          ...parameters,
          client_id: clientId,
          resource,
        }),
      });
    const isBearer = `${token_type}`.toLowerCase() === "bearer";
    if (typeof access_token !== "string" || !isBearer) {
      throw new Error(`${tokenEndpoint} gives no bearer token`);
    }
    return {
      accessToken: access_token,
      ...(refresh_token !== undefined && { refreshToken: `${refresh_token}` }),
      ...(expires_in !== undefined && {
        expiresMilliseconds: Date.now() + Number(expires_in) * 1000,
      }),
      ...(typeof scope === "string" && { scope }),
    };
  }

  /** Finds the authorization server of a resource (RFC 9728). */
  static async #resource(
    url: string,
    metadataUrl: string | undefined,
    fetch: typeof globalThis.fetch,
  ) {
    const name = "oauth-protected-resource";
    const { resource, authorization_servers, scopes_supported } = await SignIn
      .#first(
        metadataUrl === undefined
          ? [
            SignIn.#wellKnown(url, name),
            `${new URL(url).origin}/.well-known/${name}`,
          ]
          : [metadataUrl],
        url,
        fetch,
      );
    const [issuer] = SignIn.#list(authorization_servers);
    if (typeof resource !== "string" || issuer === undefined) {
      throw new Error(`${url} does not say where to sign in`);
    }
    // A token for another resource would be of use to that one.
    const [asked, named] = [new URL(url), SignIn.#address(resource, url)];
    const isOwn = asked.origin === named.origin &&
      `${asked.pathname}/`.startsWith(named.pathname.replace(/\/*$/, "/"));
    if (!isOwn) throw new Error(`${url} says that it is ${resource}`);
    return { resource, issuer, resourceScopes: scopes_supported };
  }

  /** Reads the metadata of an authorization server (RFC 8414). */
  static async #server(
    issuer: string,
    resource: string,
    fetch: typeof globalThis.fetch,
  ): Promise<Json> {
    const openid = "openid-configuration";
    const server = await SignIn.#first(
      [
        SignIn.#wellKnown(issuer, "oauth-authorization-server"),
        SignIn.#wellKnown(issuer, openid),
        `${issuer.replace(/\/$/, "")}/.well-known/${openid}`,
      ],
      resource,
      fetch,
    );
    if (URL.parse(`${server.issuer}`)?.href !== new URL(issuer).href) {
      throw new Error(`${issuer} says that it is ${server.issuer}`);
    }
    const methods = SignIn.#list(server.code_challenge_methods_supported);
    if (methods.includes("S256")) return server;
    throw new Error(`${issuer} does not offer PKCE with S256`);
  }

  /** Registers a client (RFC 7591) and gives its ID. */
  static async #register(
    { registration_endpoint }: Json,
    { clientName, redirectUri, fetch = globalThis.fetch, url }: SignInOptions,
  ): Promise<string> {
    if (registration_endpoint === undefined) {
      throw new Error(`${url} lets no client register itself`);
    }
    const { client_id } = await SignIn.#json(
      registration_endpoint,
      url,
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
    if (typeof client_id === "string") return client_id;
    throw new Error(`${registration_endpoint} gives no client_id`);
  }

  /**
   * Makes the address of a metadata document: its name comes before the path.
   */
  static #wellKnown(address: string, name: string): string {
    const { origin, pathname } = new URL(address);
    return `${origin}/.well-known/${name}${pathname.replace(/\/$/, "")}`;
  }

  /** Reads the first document that is there. */
  static async #first(
    urls: readonly string[],
    resource: string,
    fetch: typeof globalThis.fetch,
  ): Promise<Json> {
    let failure: unknown;
    for (const url of new Set(urls)) {
      try {
        return await SignIn.#json(url, resource, fetch);
      } catch (error) {
        failure ??= error;
        const { status } = error as SignInError;
        if (status === undefined || status >= 500) throw error;
      }
    }
    throw failure;
  }

  /**
   * Checks that an address is https. It may be http on this machine for a
   * resource of this machine alone: any other could reach what listens here.
   */
  static #address(value: unknown, resource: string): URL {
    const isLocal = (url: URL | null) =>
      url?.protocol === "http:" &&
      /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
    const url = URL.parse(`${value}`);
    const isSafe = url?.protocol === "https:" ||
      isLocal(url) && isLocal(URL.parse(resource));
    if (url && isSafe) return url;
    throw new Error(`Signing in needs an https address, not ${value}`);
  }

  static async #json(
    target: unknown,
    resource: string,
    fetch: typeof globalThis.fetch,
    init?: RequestInit,
  ): Promise<Json> {
    const url = SignIn.#address(target, resource);
    const response = await fetch(url, { ...init, redirect: "error" });
    let text = "";
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    for (let part; (part = await reader?.read()) && !part.done;) {
      text += decoder.decode(part.value, { stream: true });
      if (text.length <= 2 ** 20) continue;
      await reader!.cancel();
      throw new Error(`${url} answers too much`);
    }
    let body: Json = {};
    try {
      body = JSON.parse(text);
    } catch {
      // Reported below by the status, which tells more than the invalid JSON.
    }
    const isObject = typeof body === "object" && body !== null;
    if (response.ok && isObject) return body;
    const { error, error_description } = isObject ? body : {};
    const reason = error_description ?? error ?? "";
    const words = `${url} answers ${response.status} ${reason}`.trim();
    throw Object.assign(new Error(words), { status: response.status, error });
  }

  static #list(value: unknown): string[] {
    return Array.isArray(value) ? value.map(String) : [];
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
