/**
 * Our application at a provider: its requests, and the verification of what the
 * provider vouches for, by oauth4webapi.
 *
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
import { basic } from "./basic.ts";
import { exchangeParameters, type ExchangeRequest } from "./token_exchange.ts";
import {
  misbehaved,
  UpstreamError,
  type UpstreamResponse,
  type UpstreamTokens,
} from "./provider.ts";
import {
  parseTokenAnswer,
  refusalIn,
  type TokenAnswer,
} from "./token_answer.ts";
import { readObject, type UpstreamFetch } from "./upstream_fetch.ts";

/** A provider, with its ways of client authentication in our order. */
export type Issuer = AuthorizationServer & { readonly token_endpoint: string };

/** Error codes of providers that want another client authentication. */
const AUTH_REFUSALS = ["invalid_client", "invalid_request"];

/**
 * Makes our client; without a secret it is public. Its methods throw
 * {@linkcode UpstreamError}.
 */
export function oauthClient(
  fetchUpstream: UpstreamFetch,
  { clientId, clientSecret }: { clientId: string; clientSecret?: string },
) {
  /** Loads oauth4webapi, with our client and limits. */
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
        // The addresses of settings and metadata have been checked.
        [oauth.allowInsecureRequests]: true,
      } satisfies RevocationRequestOptions,
    };
  }

  /** Sends with each way of client authentication until one is not refused. */
  async function post(
    server: Issuer,
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
          headers.set("authorization", basic(client_id, clientSecret!));
        } else {
          body.set("client_id", client_id);
          if (clientSecret) body.set("client_secret", clientSecret);
        }
      });
      const error = await refusalIn(response, host);
      if (error === undefined) return response;
      const another = AUTH_REFUSALS.includes(error.code ?? "");
      if (!another || method === methods.at(-1)) throw error;
    }
    throw misbehaved(
      `${host} must support client_secret_post or client_secret_basic`,
    );
  }

  async function grant(
    server: Issuer,
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
    async checkIssuer(server: Issuer, issuer?: string): Promise<void> {
      const { oauth, client } = await load();
      const response = new URLSearchParams(issuer ? { iss: issuer } : {});
      await checked(
        "answer",
        () => oauth.validateAuthResponse(server, client, response),
      );
    },

    /** Exchanges a code, after checking that it comes from `server`. */
    async redeem(
      server: Issuer,
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

    /** Refreshes tokens; without a new refresh token the old one is kept. */
    async refresh(server: Issuer, refreshToken: string): Promise<TokenAnswer> {
      const { tokens, idToken } = await grant(server, "refresh_token", {
        refresh_token: refreshToken,
      });
      const kept = tokens.refreshToken ?? refreshToken;
      return { tokens: { ...tokens, refreshToken: kept }, idToken };
    },

    /** Exchanges an access token for one of another service. */
    async exchange(
      server: Issuer,
      request: ExchangeRequest,
    ): Promise<UpstreamTokens> {
      return (await grant(server, ...exchangeParameters(request))).tokens;
    },

    /** Revokes tokens, if the provider has an endpoint for that. */
    async revoke(
      server: Issuer,
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
          // Ending the refresh token ends the access tokens made from it (§2.1).
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
     * Verifies that an `id_token` is signed by the provider, for us, for this
     * sign-in, and still valid, and gives its claims.
     *
     * @param isIssuer true if `iss` is the provider's; gets the tenant too, or ""
     * @see OpenID Connect Core §3.1.3.7
     */
    async verify(
      server: Issuer,
      id_token: string | undefined,
      { nonce, isIssuer }: {
        /** Undefined for a refresh, which was requested without one. */
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
        // oauth4webapi reads an id_token only in a token response. Here it is
        // read later: the refresh has ended the old tokens, even if its
        // id_token is wrong.
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
        // With `server` itself, for which oauth4webapi caches the keys.
        await oauth.validateApplicationLevelSignature(server, answer, options);
        const claims = oauth.getValidatedIdTokenClaims(result)!;
        // oauth4webapi compares `azp` only with several audiences.
        if ((claims.azp ?? clientId) !== clientId) throw new Error("azp");
        if (claims.sub === "") throw new Error("sub");
        return claims as JWTPayload & { sub: string };
      });
    },
  };
}

/**
 * Runs a check of oauth4webapi, whose messages name members and not values. Its
 * causes hold tokens and claims, so they are left out.
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
