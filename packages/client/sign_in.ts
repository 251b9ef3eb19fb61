/**
 * Signing in to an MCP server as its client: registration, and the
 * authorization code flow with PKCE.
 *
 * @module
 * @see RFC 7591, RFC 6749 §4.1, RFC 7636, RFC 9207
 */
import type { Json } from "./connection.ts";
import {
  Metadata,
  type Registration,
  type SignInRequest,
  type Tokens,
} from "./metadata.ts";

export interface SignInOptions {
  /** The address of `/mcp`. */
  url: string;
  /** The address to which the browser returns. */
  redirectUri: string;
  clientName: string;
  /**
   * A client ID that is registered at this issuer; without one the client
   * registers.
   */
  registered?: { clientId: string; issuer?: string };
  /**
   * The metadata address in the server's challenge; by default the well-known
   * one.
   */
  metadataUrl?: string;
  /** Scopes, separated by spaces; by default those that the server names. */
  scope?: string;
  /**
   * True if a refresh token is wanted, even if that takes a scope of its own.
   */
  isLasting?: boolean;
  /** Sends requests; the global `fetch` by default. */
  fetch?: typeof fetch;
}

/**
 * Signs in to MCP servers. Like `Client`, the class uses nothing of its module
 * but its base class.
 */
export class SignIn extends Metadata {
  /** Registers a client and starts a sign-in that goes on in a browser. */
  static async begin(options: SignInOptions): Promise<SignInRequest> {
    const { url, redirectUri, registered } = options;
    const site = new SignIn(url, options.fetch);
    const { resource, issuer, resourceScopes } = await site.ofResource(
      options.metadataUrl,
    );
    const server = await site.ofServer(issuer);
    const isKnown = registered &&
      (registered.issuer === undefined || registered.issuer === issuer);
    const clientId = isKnown
      ? registered.clientId
      : await site.#register(server, options);
    const [state, codeVerifier] = [SignIn.#random(), SignIn.#random()];
    const target = site.checkAddress(server.authorization_endpoint);
    const scope = SignIn.#scopes(options, server, resourceScopes);
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
      tokenEndpoint: site.checkAddress(server.token_endpoint).href,
      ...(revocation_endpoint !== undefined && {
        revocationEndpoint: site.checkAddress(revocation_endpoint).href,
      }),
      state,
      codeVerifier,
      returnsIssuer:
        server.authorization_response_iss_parameter_supported === true,
    };
  }

  /** Lists the scopes to ask for, separated by spaces. */
  static #scopes(
    { scope, isLasting }: SignInOptions,
    server: Json,
    ofResource: unknown,
  ): string {
    const scopes = scope?.split(" ").filter(Boolean) ?? SignIn.list(ofResource);
    const lasting = isLasting
      ? SignIn.list(server.scopes_supported)
        .filter((it) => it === "offline_access")
      : [];
    return [...new Set([...scopes, ...lasting])].join(" ");
  }

  /**
   * Exchanges the code of the authorization response with which the browser
   * returned.
   */
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
    const response = await new SignIn(resource, fetch).send(
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
      await new SignIn(resource, fetch).json(tokenEndpoint, {
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

  /** Registers a client (RFC 7591) and returns its ID. */
  async #register(
    { registration_endpoint }: Json,
    { clientName, redirectUri, url }: SignInOptions,
  ): Promise<string> {
    if (registration_endpoint === undefined) {
      throw new Error(`${url} lets no client register itself`);
    }
    const { client_id } = await this.json(registration_endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(SignIn.clientMetadata(clientName, [redirectUri])),
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
