/**
 * Signing in to an MCP server as its client: finding its authorization server,
 * registration, and the authorization code flow with PKCE. The data of a
 * sign-in are plain objects that can be stored.
 *
 * @module
 * @see RFC 9728, RFC 8414, RFC 7591, RFC 6749 §4.1, RFC 7636, RFC 9207
 */
import type { Json } from "./connection.ts";

/** The parameters of a `WWW-Authenticate` challenge that a client needs. */
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

/** A sign-in that the person completes in a browser. */
export interface SignInRequest extends Registration {
  url: string;
  state: string;
  codeVerifier: string;
  /** True if the server promises `iss` in the response (RFC 9207). */
  returnsIssuer: boolean;
}

export interface Tokens {
  accessToken: string;
  refreshToken?: string;
  /** Epoch milliseconds. */
  expiresMilliseconds?: number;
  /** The granted scopes, if the server names them. */
  scope?: string;
}

/** A refusal of an authorization server. */
export interface SignInError extends Error {
  status: number;
  /** The code of RFC 6749 §5.2, such as `invalid_grant`. */
  error?: string;
}

export interface SignInOptions {
  /** The URL of the MCP endpoint. */
  url: string;
  redirectUri: string;
  clientName: string;
  /**
   * A client ID that is registered at this issuer; if absent, the client
   * registers.
   */
  registered?: { clientId: string; issuer?: string };
  /**
   * The metadata URL in the server's challenge; by default the well-known one.
   */
  metadataUrl?: string;
  /** Scopes, separated by spaces; by default those that the server names. */
  scope?: string;
  /** True if a refresh token is wanted, even if it needs a scope of its own. */
  isLasting?: boolean;
  /** Sends requests; the global `fetch` by default. */
  fetch?: typeof fetch;
}

/**
 * Signs in to MCP servers. Sends nothing over http except to loopback, and
 * follows no redirect. Like `Client`, the class uses nothing of its module; what
 * it imports is not needed where a sign-in has one host, as at our own servers.
 */
export class SignIn {
  /** @param url the URL of the resource: the MCP endpoint */
  private constructor(
    private readonly url: string,
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
  async #ofResource(metadataUrl?: string) {
    const { url } = this;
    const name = "oauth-protected-resource";
    const { resource, authorization_servers, scopes_supported } = await this
      .#first(
        metadataUrl === undefined
          ? [
            SignIn.#wellKnown(url, name),
            `${new URL(url).origin}/.well-known/${name}`,
          ]
          : [metadataUrl],
      );
    const [issuer] = SignIn.#list(authorization_servers);
    if (typeof resource !== "string" || issuer === undefined) {
      throw new Error(
        `${url} does not say where to sign in: its metadata must name resource and authorization_servers`,
      );
    }
    // RFC 9728 §3.3: a token for another resource, even one at an address above
    // this one, would give access to all that is there.
    if (this.#checkAddress(resource).href !== new URL(url).href) {
      throw new Error(`${url} says that it is ${resource}`);
    }
    return { resource, issuer, resourceScopes: scopes_supported };
  }

  /** Reads the metadata of an authorization server (RFC 8414). */
  async #ofServer(issuer: string): Promise<Json> {
    const openid = "openid-configuration";
    const server = await this.#first([
      SignIn.#wellKnown(issuer, "oauth-authorization-server"),
      SignIn.#wellKnown(issuer, openid),
      `${issuer.replace(/\/$/, "")}/.well-known/${openid}`,
    ]);
    if (URL.parse(`${server.issuer}`)?.href !== new URL(issuer).href) {
      throw new Error(`${issuer} says that it is ${server.issuer}`);
    }
    const methods = SignIn.#list(server.code_challenge_methods_supported);
    if (methods.includes("S256")) return server;
    throw new Error(`${issuer} does not offer PKCE with S256`);
  }

  /**
   * Checks that the token and revocation endpoints are on the host of the
   * authorization endpoint, above or below it, or are those in that host's
   * metadata. Otherwise an attacker's server could name the page of an honest
   * one, and get the codes that the honest one issues (RFC 9700 §4.4).
   */
  async #checkTargets(server: Json): Promise<void> {
    // Without the right `iss` there is no code to redeem.
    if (server.authorization_response_iss_parameter_supported === true) return;
    const page = this.#checkAddress(server.authorization_endpoint);
    const others = ["token_endpoint", "revocation_endpoint"].filter((name) =>
      server[name] !== undefined &&
      this.#checkAddress(server[name]).host !== page.host
    );
    if (others.length === 0) return;
    const { isSameSite } = await import("../../src/core/net/site.ts");
    const away = others.filter((name) =>
      !isSameSite(new URL(`${server[name]}`), page)
    );
    if (away.length === 0) return;
    const own = await this.#ofServer(page.origin).catch(() => undefined);
    if (away.every((name) => own?.[name] === server[name])) return;
    throw new Error(
      `${server.issuer} sends people to ${page.host}, and their codes elsewhere`,
    );
  }

  /**
   * Makes a well-known URL (RFC 8615), with the name between origin and path.
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
        return await this.#json(url);
      } catch (error) {
        failure ??= error;
        const { status = 500 } = error as Partial<SignInError>;
        if (status >= 500 || [408, 425, 429].includes(status)) throw error;
      }
    }
    throw failure;
  }

  /**
   * Checks that a URL is https. It may be http on loopback only if the resource
   * is on loopback too: a resource elsewhere could otherwise reach local
   * programs.
   */
  #checkAddress(value: unknown): URL {
    const isLocal = (url: URL | null) =>
      url?.protocol === "http:" &&
      /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
    const url = URL.parse(`${value}`);
    const isSafe = url?.protocol === "https:" ||
      isLocal(url) && isLocal(URL.parse(this.url));
    if (url && isSafe) return url;
    throw new Error(`Signing in needs an https address, not ${value}`);
  }

  async #send(target: unknown, init?: RequestInit) {
    const { fetcher } = this;
    return await fetcher(this.#checkAddress(target), {
      ...init,
      redirect: "error",
    });
  }

  /** Requests a JSON object of at most 1 Mi characters. @throws {SignInError} */
  async #json(target: unknown, init?: RequestInit): Promise<Json> {
    const response = await this.#send(target, init);
    let text = "";
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    for (let part; (part = await reader?.read()) && !part.done;) {
      text += decoder.decode(part.value, { stream: true });
      if (text.length <= 2 ** 20) continue;
      await reader!.cancel();
      throw new Error(`${this.#checkAddress(target)} answers too much`);
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
      this.#checkAddress(target)
    } answers ${response.status} ${reason}`
      .trim();
    throw Object.assign(new Error(words), { status: response.status, error });
  }

  static #list(value: unknown): string[] {
    return Array.isArray(value) ? value.map(String) : [];
  }

  /** Registers a client and makes the authorization request. */
  static async begin(options: SignInOptions): Promise<SignInRequest> {
    const { url, redirectUri, registered } = options;
    const site = new SignIn(url, options.fetch);
    const { resource, issuer, resourceScopes } = await site.#ofResource(
      options.metadataUrl,
    );
    const server = await site.#ofServer(issuer);
    if (registered?.issuer !== issuer) await site.#checkTargets(server);
    const isKnown = registered &&
      (registered.issuer === undefined || registered.issuer === issuer);
    const scope = SignIn.#scopes(options, server, resourceScopes);
    const clientId = isKnown
      ? registered.clientId
      : await site.#register(server, options, scope);
    const [state, codeVerifier] = [SignIn.#random(), SignIn.#random()];
    const target = site.#checkAddress(server.authorization_endpoint);
    const asked = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: await SignIn.#challenge(codeVerifier),
      code_challenge_method: "S256",
      state,
      resource,
      ...(scope && { scope }),
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
      tokenEndpoint: site.#checkAddress(server.token_endpoint).href,
      ...(revocation_endpoint !== undefined && {
        revocationEndpoint: site.#checkAddress(revocation_endpoint).href,
      }),
      state,
      codeVerifier,
      returnsIssuer:
        server.authorization_response_iss_parameter_supported === true,
    };
  }

  /** Lists the scopes to request, separated by spaces. */
  static #scopes(
    { scope, isLasting }: SignInOptions,
    server: Json,
    ofResource: unknown,
  ): string {
    const scopes = scope?.split(" ").filter(Boolean) ??
      SignIn.#list(ofResource);
    const lasting = isLasting
      ? SignIn.#list(server.scopes_supported)
        .filter((it) => it === "offline_access")
      : [];
    return [...new Set([...scopes, ...lasting])].join(" ");
  }

  /** Exchanges the code in the authorization response. */
  static async finish(
    request: SignInRequest,
    response: URLSearchParams,
    fetch?: typeof globalThis.fetch,
  ): Promise<Tokens> {
    if (response.get("state") !== request.state) {
      throw new Error("The browser came back with another state than was sent");
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
    fetch?: typeof globalThis.fetch,
  ): Promise<Tokens> {
    return await SignIn.#redeem(registration, fetch, {
      grant_type: "refresh_token",
      refresh_token: refreshToken,
    });
  }

  /** Revokes a token, if the server supports that (RFC 7009). */
  static async revoke(
    { revocationEndpoint, clientId, resource }: Registration,
    token: string,
    fetch?: typeof globalThis.fetch,
  ): Promise<void> {
    if (revocationEndpoint === undefined) return;
    const response = await new SignIn(resource, fetch).#send(
      revocationEndpoint,
      {
        method: "POST",
        body: new URLSearchParams({ token, client_id: clientId }),
      },
    );
    await response.body?.cancel();
    if (!response.ok) {
      throw new Error(`${revocationEndpoint} answers ${response.status}`);
    }
  }

  static async #redeem(
    { tokenEndpoint, clientId, resource }: Registration,
    fetch: typeof globalThis.fetch | undefined,
    parameters: Record<string, string>,
  ): Promise<Tokens> {
    const { access_token, refresh_token, expires_in, scope, token_type } =
      await new SignIn(resource, fetch).#json(tokenEndpoint, {
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

  /**
   * Registers a client (RFC 7591) and returns its ID. Some servers give a client
   * no other scopes than those it was registered for.
   */
  async #register(
    { registration_endpoint }: Json,
    { clientName, redirectUri, url }: SignInOptions,
    scope: string,
  ): Promise<string> {
    if (registration_endpoint === undefined) {
      throw new Error(`${url} lets no client register itself`);
    }
    const { client_id } = await this.#json(registration_endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...SignIn.clientMetadata(clientName, [redirectUri]),
        ...(scope && { scope }),
      }),
    });
    if (typeof client_id === "string") return client_id;
    throw new Error(`${registration_endpoint} gives no client_id`);
  }

  /** Makes the metadata of a public client (RFC 7591). */
  static clientMetadata(name: string, redirectUris: readonly string[]): Json {
    return {
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
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
