/**
 * The provider's token and revocation endpoints.
 *
 * @see RFC 6749 §3.2, RFC 7009
 * @module
 */
import { UpstreamError, type UpstreamErrorKind } from "./error.ts";
import { type Exchange, readObject } from "./exchange.ts";
import type { UpstreamTokens } from "./provider.ts";

/** Ways to say who we are (RFC 7591 §2), as far as they are spoken here. */
export const AUTH_METHODS = [
  "client_secret_post",
  "client_secret_basic",
] as const;

/** One of {@linkcode AUTH_METHODS}. */
export type AuthMethod = typeof AUTH_METHODS[number];

/** Our application at the provider. */
export interface Application {
  clientId: string;
  /** Undefined: a public client, which only names itself. */
  clientSecret?: string;
  /** In order of preference; the next is tried when one is refused. */
  authMethods: readonly AuthMethod[];
}

/** What a token endpoint grants. */
export interface TokenAnswer {
  tokens: UpstreamTokens;
  idToken?: string;
}

/** Error codes that mean more than "misbehaved"; GitHub has its own words. */
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

/** What a provider says when it did not see, or dislikes, our credentials. */
const AUTH_REFUSALS: readonly unknown[] = ["invalid_client", "invalid_request"];

/**
 * Asks for tokens.
 *
 * @param grant the parameters of the grant, such as `grant_type` and `code`
 * @param now epoch seconds
 * @throws {UpstreamError}
 * @see RFC 6749 §4.1.3, §6
 */
export async function requestTokens(
  exchange: Exchange,
  endpoint: string,
  application: Application,
  grant: Readonly<Record<string, string>>,
  now: number,
): Promise<TokenAnswer> {
  const { host } = new URL(endpoint);
  for (const method of methodsOf(application)) {
    const response = await post(exchange, endpoint, application, method, grant);
    const answer = await readObject(response, host);
    if (response.ok && answer.error === undefined) {
      return parseTokenAnswer(answer, host, now);
    }
    const refused = AUTH_REFUSALS.includes(answer.error);
    const last = method === methodsOf(application).at(-1);
    if (last || !refused) throw refusal(answer.error, response.status, host);
  }
  throw new UpstreamError(
    "misbehaved",
    `${host} offers no client authentication that is spoken here`,
  );
}

/**
 * Ends a token at the provider.
 *
 * @throws {UpstreamError}
 * @see RFC 7009 §2.1
 */
export async function revokeToken(
  exchange: Exchange,
  endpoint: string,
  application: Application,
  { accessToken, refreshToken }: UpstreamTokens,
): Promise<void> {
  const { host } = new URL(endpoint);
  const [method] = methodsOf(application);
  const response = await post(exchange, endpoint, application, method, {
    // Ending the refresh token ends the access tokens made from it (§2.1).
    token: refreshToken ?? accessToken,
    token_type_hint: refreshToken ? "refresh_token" : "access_token",
  });
  if (!response.ok) {
    throw new UpstreamError(
      "misbehaved",
      `${host} answered ${response.status}`,
    );
  }
}

function methodsOf(
  { clientSecret, authMethods }: Application,
): readonly (AuthMethod | undefined)[] {
  return clientSecret === undefined ? [undefined] : authMethods;
}

function post(
  exchange: Exchange,
  endpoint: string,
  { clientId, clientSecret = "" }: Application,
  method: AuthMethod | undefined,
  parameters: Readonly<Record<string, string>>,
): Promise<Response> {
  const body = new URLSearchParams(parameters);
  const headers = new Headers();
  if (method === "client_secret_basic") {
    headers.set("authorization", basic(clientId, clientSecret));
  } else {
    body.set("client_id", clientId);
    if (method !== undefined) body.set("client_secret", clientSecret);
  }
  return exchange(endpoint, { method: "POST", headers, body });
}

/** Both parts are encoded first, so that a colon splits nothing (RFC 6749 §2.3.1). */
export function basic(clientId: string, clientSecret: string): string {
  const pair = `${encodeURIComponent(clientId)}:${
    encodeURIComponent(clientSecret)
  }`;
  return `Basic ${btoa(pair)}`;
}

/** The provider's refusal, in our words: its description may repeat a secret. */
function refusal(error: unknown, status: number, host: string): UpstreamError {
  if (typeof error !== "string" || !/^[\w.-]{1,64}$/.test(error)) {
    return new UpstreamError("misbehaved", `${host} answered ${status}`);
  }
  return new UpstreamError(
    Object.hasOwn(KINDS, error) ? KINDS[error] : "misbehaved",
    `${host} refused with ${error}`,
  );
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
  // A string in form bodies, and from some providers in JSON too.
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
