/**
 * Our application at a provider: its requests, and the verification of what the
 * provider vouches for, by oauth4webapi. Token answers are read here, because
 * real providers keep to the standard less than oauth4webapi wants.
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
import { CLOCK_TOLERANCE_SECONDS } from "../rules/lifetimes.ts";
import type { UpstreamResponse, UpstreamTokens } from "./provider.ts";
import { UpstreamError, type UpstreamErrorKind } from "./upstream_error.ts";
import { readObject, type UpstreamFetch } from "./upstream_fetch.ts";

/** A provider whose ways of client authentication are in order of preference. */
export type Server = AuthorizationServer & { readonly token_endpoint: string };

/** The tokens of an answer, and its `id_token`, if there was one. */
export interface TokenAnswer {
  tokens: UpstreamTokens;
  idToken?: string;
}

/** The use of a provider as our application. Throws {@linkcode UpstreamError}. */
export interface OAuthClient {
  /** Exchanges a code, if the response is from `server`, and is not for another. */
  redeem(server: Server, response: UpstreamResponse): Promise<TokenAnswer>;
  /**
   * Refreshes tokens; the refresh token stays the same if no new one is
   * returned.
   */
  refresh(server: Server, refreshToken: string): Promise<TokenAnswer>;
  /** Ends tokens, if the provider has an endpoint for that. */
  revoke(server: Server, tokens: UpstreamTokens): Promise<void>;
  /**
   * Verifies that an `id_token` is signed by the provider, for us, for this
   * sign-in, and still valid, and gives its claims.
   *
   * @see OpenID Connect Core §3.1.3.7
   */
  verify(
    server: Server,
    idToken: string | undefined,
    options: {
      /** Undefined for a refresh, which was requested without one. */
      nonce?: string;
      /** True if `iss` is the provider's; gets the tenant too, or "". */
      isIssuer: (issuer: string, tenant: unknown) => boolean;
    },
  ): Promise<JWTPayload & { sub: string }>;
}

/** Error codes that mean more than "misbehaved", with GitHub's own. */
const KINDS: Readonly<Record<string, UpstreamErrorKind>> = {
  invalid_grant: "dead",
  bad_verification_code: "dead",
  bad_refresh_token: "dead",
  // OpenID Connect §3.1.2.6: only signing in again helps.
  interaction_required: "dead",
  login_required: "dead",
  consent_required: "dead",
  access_denied: "denied",
  unverified_user_email: "denied",
  temporarily_unavailable: "unavailable",
  server_error: "unavailable",
};

/** Error codes for credentials that a provider did not see, or did not like. */
const AUTH_REFUSALS = ["invalid_client", "invalid_request"];

/** Makes a client; without a secret it is a public one, which gives its id. */
export function oauthClient(
  fetchUpstream: UpstreamFetch,
  { clientId, clientSecret }: { clientId: string; clientSecret?: string },
): OAuthClient {
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
        // Settings and metadata have been checked for it.
        [oauth.allowInsecureRequests]: true,
      } satisfies RevocationRequestOptions,
    };
  }

  /** Sends with each way of client authentication until one is not refused. */
  async function post(
    server: Server,
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
    throw new UpstreamError(
      "misbehaved",
      `${host} offers no client authentication that is spoken here`,
    );
  }

  /** Sends a token request and reads its answer. */
  async function grant(
    server: Server,
    send: (authentication: ClientAuth) => Promise<Response>,
  ): Promise<TokenAnswer> {
    const { host } = new URL(server.token_endpoint);
    const response = await post(server, server.token_endpoint, send);
    return parseAnswer(await readObject(response, host), host);
  }

  return {
    async redeem(server, { code, codeVerifier, redirectUri, issuer }) {
      const { oauth, client, options } = await load();
      const response = await checked("answer", () =>
        oauth.validateAuthResponse(
          server,
          client,
          new URLSearchParams({ code, ...issuer && { iss: issuer } }),
        ));
      return await grant(
        server,
        (authentication) =>
          oauth.authorizationCodeGrantRequest(
            server,
            client,
            authentication,
            response,
            redirectUri,
            codeVerifier,
            options,
          ),
      );
    },

    async refresh(server, refreshToken) {
      const { oauth, client, options } = await load();
      const { tokens, idToken } = await grant(
        server,
        (authentication) =>
          oauth.refreshTokenGrantRequest(
            server,
            client,
            authentication,
            refreshToken,
            options,
          ),
      );
      const kept = tokens.refreshToken ?? refreshToken;
      return { tokens: { ...tokens, refreshToken: kept }, idToken };
    },

    async revoke(server, { accessToken, refreshToken }) {
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

    async verify(server, id_token, { nonce, isIssuer }) {
      if (id_token === undefined) {
        throw new UpstreamError("misbehaved", "The provider sent no id_token");
      }
      const { oauth, client, options } = await load();
      return await checked("id_token", async () => {
        const { iss = "", tid = "" } = decodeJwt(id_token);
        if (!isIssuer(iss, tid)) throw new Error("iss");
        const named = { ...server, issuer: iss };
        // oauth4webapi reads an id_token in a token answer only. Here it is read
        // later: a refresh whose id_token is refused has ended the old tokens.
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
        // By `server`, whose keys are cached.
        await oauth.validateApplicationLevelSignature(server, answer, options);
        const claims = oauth.getValidatedIdTokenClaims(result)!;
        // oauth4webapi compares `azp` only beside several audiences.
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
    throw new UpstreamError(
      "misbehaved",
      `The provider's ${what} is refused: ${(error as Error).message}`,
    );
  }
}

/** Finds the refusal in an answer of any status: GitHub's have status 200. */
async function refusalIn(
  response: Response,
  host: string,
): Promise<UpstreamError | undefined> {
  const answer = await readObject(response.clone(), host).catch((error) => {
    if (response.ok) return { error: undefined };
    throw error;
  });
  const code = answer.error;
  if (response.ok && code === undefined) return undefined;
  if (typeof code !== "string" || !/^[\w.-]{1,64}$/.test(code)) {
    return new UpstreamError(
      "misbehaved",
      `${host} answered ${response.status}`,
    );
  }
  const kind = Object.hasOwn(KINDS, code) ? KINDS[code] : "misbehaved";
  // Without its description, which may repeat a secret.
  return new UpstreamError(kind, `${host} refused with ${code}`, { code });
}

/**
 * Makes Basic credentials. Both parts are encoded first, because of colons (RFC
 * 6749 §2.3.1). oauth4webapi encodes `-`, `_` and `.` too, as forms may be;
 * providers that do not decode would then know no client with such an id.
 */
export function basic(clientId: string, clientSecret: string): string {
  const pair = `${encodeURIComponent(clientId)}:${
    encodeURIComponent(clientSecret)
  }`;
  return `Basic ${btoa(pair)}`;
}

/**
 * Parses a successful token answer. Providers leave `token_type` out, send
 * `expires_in` as a string (forms can do nothing else), and null for what they
 * do not give.
 *
 * @throws {UpstreamError} `misbehaved`
 * @see RFC 6749 §5.1
 */
function parseAnswer(
  answer: Readonly<Record<string, unknown>>,
  host: string,
): TokenAnswer {
  const { access_token, token_type = "Bearer", expires_in } = answer;
  if (typeof access_token !== "string" || access_token === "") {
    throw new UpstreamError("misbehaved", `${host} granted no access token`);
  }
  // A client must not use a token of a type it does not know (§7.1).
  if (typeof token_type !== "string" || token_type.toLowerCase() !== "bearer") {
    throw new UpstreamError(
      "misbehaved",
      `${host} granted a token that is not a bearer token`,
    );
  }
  const seconds = Math.floor(Number(expires_in ?? NaN));
  const now = Math.floor(Date.now() / 1000);
  return {
    tokens: {
      accessToken: access_token,
      tokenType: token_type,
      refreshToken: text(answer.refresh_token),
      scope: text(answer.scope),
      expiresAt: seconds > 0 ? now + seconds : undefined,
    },
    idToken: text(answer.id_token),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
