/**
 * The provider's token and revocation endpoints.
 *
 * @see RFC 6749 §3.2, RFC 7009
 * @module
 */
import { UpstreamError, type UpstreamErrorKind } from "./upstream_error.ts";
import { readObject, type UpstreamFetch } from "./upstream_fetch.ts";
import type { UpstreamResponse, UpstreamTokens } from "./provider.ts";

/** The supported ways of client authentication (RFC 7591 §2). */
export const AUTH_METHODS = [
  "client_secret_post",
  "client_secret_basic",
] as const;

/** One of {@linkcode AUTH_METHODS}. */
export type AuthMethod = typeof AUTH_METHODS[number];

/** Our application at the provider. */
export interface Application {
  clientId: string;
  /** Undefined: a public client, which only gives its id. */
  clientSecret?: string;
  /** Methods in order of preference; the next is tried when one is refused. */
  authMethods: readonly AuthMethod[];
}

/** The successful response of a token endpoint. */
export interface TokenAnswer {
  tokens: UpstreamTokens;
  idToken?: string;
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

/** A provider's token endpoint, used as our application. */
export interface TokenEndpoint {
  /** @see RFC 6749 §4.1.3, RFC 7636 §4.5 */
  redeem(response: UpstreamResponse): Promise<TokenAnswer>;
  /**
   * Refreshes tokens; the refresh token stays the same if no new one is
   * returned.
   *
   * @see RFC 6749 §6
   */
  refresh(refreshToken: string): Promise<TokenAnswer>;
}

/**
 * Makes the client of a token endpoint. Its methods throw
 * {@linkcode UpstreamError}.
 */
export function tokenEndpoint(
  fetchUpstream: UpstreamFetch,
  url: string,
  application: Application,
): TokenEndpoint {
  const { host } = new URL(url);

  async function grant(parameters: Record<string, string>) {
    const response = await post(fetchUpstream, url, application, parameters);
    const now = Math.floor(Date.now() / 1000);
    return parseTokenAnswer(await readObject(response, host), host, now);
  }

  return {
    redeem: ({ code, codeVerifier, redirectUri }) =>
      grant({
        grant_type: "authorization_code",
        code,
        code_verifier: codeVerifier,
        redirect_uri: redirectUri,
      }),
    async refresh(refreshToken) {
      const { tokens, idToken } = await grant({
        grant_type: "refresh_token",
        refresh_token: refreshToken,
      });
      const kept = tokens.refreshToken ?? refreshToken;
      return { tokens: { ...tokens, refreshToken: kept }, idToken };
    },
  };
}

/**
 * Ends a token at the provider.
 *
 * @throws {UpstreamError}
 * @see RFC 7009 §2.1
 */
export async function revokeToken(
  fetchUpstream: UpstreamFetch,
  url: string,
  application: Application,
  { accessToken, refreshToken }: UpstreamTokens,
): Promise<void> {
  await post(fetchUpstream, url, application, {
    // Ending the refresh token ends the access tokens made from it (§2.1).
    token: refreshToken ?? accessToken,
    token_type_hint: refreshToken ? "refresh_token" : "access_token",
  });
}

/** Posts with each way of client authentication until one is not refused. */
async function post(
  fetchUpstream: UpstreamFetch,
  url: string,
  { clientId, clientSecret, authMethods }: Application,
  parameters: Readonly<Record<string, string>>,
): Promise<Response> {
  const { host } = new URL(url);
  const methods = clientSecret === undefined ? [undefined] : authMethods;
  for (const method of methods) {
    const body = new URLSearchParams(parameters);
    const headers = new Headers();
    if (method === "client_secret_basic") {
      headers.set("authorization", basic(clientId, clientSecret!));
    } else {
      body.set("client_id", clientId);
      if (method !== undefined) body.set("client_secret", clientSecret!);
    }
    const response = await fetchUpstream(url, {
      method: "POST",
      headers,
      body,
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
 * 6749 §2.3.1).
 */
export function basic(clientId: string, clientSecret: string): string {
  const pair = `${encodeURIComponent(clientId)}:${
    encodeURIComponent(clientSecret)
  }`;
  return `Basic ${btoa(pair)}`;
}

/**
 * Parses a successful answer.
 *
 * @throws {UpstreamError} `misbehaved`
 * @see RFC 6749 §5.1
 */
export function parseTokenAnswer(
  answer: Readonly<Record<string, unknown>>,
  host: string,
  now: number,
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
  // A string in form bodies, and at some providers in JSON too.
  const seconds = Math.floor(Number(expires_in ?? NaN));
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
