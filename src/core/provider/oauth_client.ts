/**
 * This server's OAuth client at a provider, with oauth4webapi: sends requests,
 * checks `iss` of authorization responses (RFC 9207), and verifies ID tokens
 * with their `nonce`.
 * @see RFC 6749, RFC 7009, RFC 9207, OpenID Connect Core 1.0
 * @module
 */
import { decodeJwt, type JWTPayload } from "jose";
import type {
  AuthorizationServer,
  ClientAuth,
  RevocationRequestOptions,
} from "oauth4webapi";
import { CLOCK_TOLERANCE_SECONDS } from "../oauth/lifetimes.ts";
import { basicCredentials } from "./basic.ts";
import { exchangeParameters, type ExchangeRequest } from "./token_exchange.ts";
import {
  misbehaved,
  UpstreamError,
  type UpstreamResponse,
  type UpstreamTokens,
} from "./provider.ts";
import {
  errorInTokenAnswer,
  parseTokenAnswer,
  type TokenAnswer,
} from "./token_answer.ts";
import { readObject, type UpstreamFetch } from "./upstream_fetch.ts";

/**
 * A provider's metadata. Its methods of client authentication are tried in
 * order.
 */
export type IssuerMetadata = AuthorizationServer & {
  readonly token_endpoint: string;
};

/**
 * Error codes after which the next method of client authentication is tried.
 */
const AUTH_REFUSALS = ["invalid_client", "invalid_request"];

/**
 * Makes the OAuth client for a provider; without a secret it is public. Its
 * methods throw {@linkcode UpstreamError}.
 */
export function oauthClient(
  fetchUpstream: UpstreamFetch,
  { clientId, clientSecret }: { clientId: string; clientSecret?: string },
) {
  /** Loads oauth4webapi, and prepares the client and limits for it. */
  async function load() {
    const oauth = await import("oauth4webapi");
    return {
      oauth,
      client: {
        client_id: clientId,
        [oauth.clockTolerance]: CLOCK_TOLERANCE_SECONDS,
      },
      options: {
        [oauth.customFetch]: fetchUpstream,
        // The settings' and metadata's URLs were checked before.
        [oauth.allowInsecureRequests]: true,
      } satisfies RevocationRequestOptions,
    };
  }

  /**
   * Sends a request. If the method of client authentication is refused, sends
   * it again with the next one.
   */
  async function post(
    server: IssuerMetadata,
    endpoint: string,
    send: (authentication: ClientAuth) => Promise<Response>,
  ): Promise<Response> {
    const { host } = new URL(endpoint);
    const methods = clientSecret === undefined
      ? ["none"]
      : server.token_endpoint_auth_methods_supported ?? [];
    for (const method of methods) {
      const response = await send((_, { client_id }, body, headers) => {
        if (method === "client_secret_basic") {
          headers.set(
            "authorization",
            basicCredentials(client_id, clientSecret!),
          );
        } else {
          body.set("client_id", client_id);
          if (clientSecret) body.set("client_secret", clientSecret);
        }
      });
      const error = await errorInTokenAnswer(response, host);
      if (error === undefined) return response;
      const another = AUTH_REFUSALS.includes(error.code ?? "");
      if (!another || method === methods.at(-1)) throw error;
    }
    throw misbehaved(
      `${host} must support client_secret_post or client_secret_basic`,
    );
  }

  async function grant(
    server: IssuerMetadata,
    grantType: string,
    parameters: Record<string, string>,
  ): Promise<TokenAnswer> {
    const { oauth, client, options } = await load();
    const { token_endpoint: endpoint } = server;
    const response = await post(
      server,
      endpoint,
      (authentication) =>
        oauth.genericTokenEndpointRequest(
          server,
          client,
          authentication,
          grantType,
          parameters,
          options,
        ),
    );
    const { host } = new URL(endpoint);
    return parseTokenAnswer(await readObject(response, host), host);
  }

  return {
    async checkIssuer(server: IssuerMetadata, issuer?: string): Promise<void> {
      const { oauth, client } = await load();
      const response = new URLSearchParams(issuer ? { iss: issuer } : {});
      await checked(
        "answer",
        () => oauth.validateAuthResponse(server, client, response),
      );
    },

    /** Checks a response's `iss` against `server`, and redeems its code. */
    async redeem(
      server: IssuerMetadata,
      { code, codeVerifier, redirectUri, issuer }: UpstreamResponse,
    ): Promise<TokenAnswer> {
      await this.checkIssuer(server, issuer);
      if (code === "") throw misbehaved("The code is empty");
      return await grant(server, "authorization_code", {
        code,
        redirect_uri: redirectUri,
        code_verifier: codeVerifier,
      });
    },

    /** Refreshes tokens. Keeps the refresh token if the response has none. */
    async refresh(
      server: IssuerMetadata,
      refreshToken: string,
    ): Promise<TokenAnswer> {
      const { tokens, idToken } = await grant(server, "refresh_token", {
        refresh_token: refreshToken,
      });
      const kept = tokens.refreshToken ?? refreshToken;
      return { tokens: { ...tokens, refreshToken: kept }, idToken };
    },

    /** Exchanges an access token for one of another service (RFC 8693). */
    async exchange(
      server: IssuerMetadata,
      request: ExchangeRequest,
    ): Promise<UpstreamTokens> {
      return (await grant(server, ...exchangeParameters(request))).tokens;
    },

    /** Revokes tokens (RFC 7009), if the provider has an endpoint for that. */
    async revoke(
      server: IssuerMetadata,
      { accessToken, refreshToken }: UpstreamTokens,
    ): Promise<void> {
      const { revocation_endpoint: endpoint } = server;
      if (endpoint === undefined) return;
      const { oauth, client, options } = await load();
      await post(server, endpoint, (authentication) =>
        oauth.revocationRequest(
          server,
          client,
          authentication,
          // Revoking the refresh token ends its access tokens, too (§2.1).
          refreshToken ?? accessToken,
          {
            ...options,
            additionalParameters: {
              token_type_hint: refreshToken ? "refresh_token" : "access_token",
            },
          },
        ));
    },

    /**
     * Verifies an `id_token` and returns its claims. It must be signed by the
     * provider, be issued to this client, have the `nonce`, and not be expired.
     * @param isIssuer true if `iss` is the provider's; also gets the `tid`
     * claim, or ""
     * @see OpenID Connect Core §3.1.3.7
     */
    async verify(
      server: IssuerMetadata,
      id_token: string | undefined,
      { nonce, isIssuer }: {
        /** The nonce of the authorization request; undefined for a refresh. */
        nonce?: string;
        isIssuer(issuer: string, tenant: unknown): boolean;
      },
    ): Promise<JWTPayload & { sub: string }> {
      if (id_token === undefined) {
        throw misbehaved("The provider sent no id_token");
      }
      const { oauth, client, options } = await load();
      return await checked("id_token", async () => {
        const { iss = "", tid = "" } = decodeJwt(id_token);
        if (!isIssuer(iss, tid)) throw new Error("iss");
        const named = { ...server, issuer: iss };
        // oauth4webapi reads an `id_token` only in a token response, so one is
        // made here. The provider's own response was handled before: its tokens
        // must be kept even if the `id_token` is invalid, as the old ones have
        // ended.
        const answer = Response.json({
          access_token: "elsewhere",
          token_type: "bearer",
          id_token,
        });
        const result = nonce === undefined
          ? await oauth.processRefreshTokenResponse(named, client, answer)
          : await oauth.processAuthorizationCodeResponse(
            named,
            client,
            answer,
            { expectedNonce: nonce },
          );
        // `server` and not `named`: oauth4webapi caches the JWKS for this
        // object.
        await oauth.validateApplicationLevelSignature(server, answer, options);
        const claims = oauth.getValidatedIdTokenClaims(result)!;
        // oauth4webapi compares `azp` only if there are several audiences.
        if ((claims.azp ?? clientId) !== clientId) throw new Error("azp");
        if (claims.sub === "") throw new Error("sub");
        return claims as JWTPayload & { sub: string };
      });
    },
  };
}

/**
 * Runs a check of oauth4webapi. The error keeps its message, which names claims
 * without their values, but not its cause, which has tokens and claims.
 */
async function checked<T>(
  what: string,
  check: () => T | Promise<T>,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    throw misbehaved(
      `The provider's ${what} is refused: ${(error as Error).message}`,
    );
  }
}
