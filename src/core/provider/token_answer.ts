/**
 * Parses responses of token endpoints. oauth4webapi is not used, because real
 * providers deviate: GitHub sends errors with status 200, and forms; others
 * send null.
 *
 * @see RFC 6749 §5
 * @module
 */
import { secondsOfUse } from "../oauth/lifetimes.ts";
import { misbehaved, UpstreamError, type UpstreamTokens } from "./provider.ts";
import { readObject } from "./upstream_fetch.ts";

export interface TokenAnswer {
  tokens: UpstreamTokens;
  idToken?: string;
}

const MAX_TOKEN_BYTES = 16 * 1024;

/** True if a token, or the JSON of several, is too long for the database. */
export function isTokenTooLong(tokens: string): boolean {
  return new TextEncoder().encode(tokens).length > MAX_TOKEN_BYTES;
}

/** The kinds of error codes. Any other code is `misbehaved`. */
const KINDS: Readonly<Record<string, UpstreamError["kind"]>> = {
  invalid_grant: "dead",
  bad_verification_code: "dead",
  bad_refresh_token: "dead",
  // Slack's code.
  invalid_code: "dead",
  invalid_refresh_token: "dead",
  // Other codes for an invalid refresh token.
  invalid_token: "dead",
  expired_token: "dead",
  token_expired: "dead",
  token_revoked: "dead",
  // OpenID Connect Core §3.1.2.6: the person has to sign in again.
  interaction_required: "dead",
  login_required: "dead",
  consent_required: "dead",
  access_denied: "denied",
  unverified_user_email: "denied",
  temporarily_unavailable: "unavailable",
  server_error: "unavailable",
};

/**
 * Matches an access token that a header can carry. RFC 6750 §2.1 allows fewer
 * characters, but providers use others, too.
 */
const ACCESS_TOKEN = /^[\x21-\x7e]+$/;

/** The maximum of `expires_in`; a longer one is ignored. */
const MAX_LIFETIME_SECONDS = 2 ** 31;

/**
 * Returns the error in a response, also with status 200, as GitHub sends it.
 */
export async function errorInTokenAnswer(
  response: Response,
  host: string,
): Promise<UpstreamError | undefined> {
  const answer = await readObject(response.clone(), host).catch((error) => {
    if (!response.ok) throw error;
    const none: Record<string, unknown> = {};
    return none;
  });
  // Microsoft says in `suberror` why it sent `invalid_grant`.
  const code = answer.suberror === "consent_required"
    ? answer.suberror
    // Some providers send `error: null` with a token.
    : answer.error ?? undefined;
  if (response.ok && code === undefined) return undefined;
  if (typeof code !== "string" || !/^[\w.-]{1,64}$/.test(code)) {
    return misbehaved(`${host} answered ${response.status}`);
  }
  const kind = Object.hasOwn(KINDS, code) ? KINDS[code] : "misbehaved";
  // Without `error_description`, which may repeat a secret. Microsoft's
  // error numbers help an operator.
  const numbers = [answer.error_codes].flat().filter(Number.isInteger);
  const more = numbers.length > 0 ? ` (${numbers.slice(0, 5).join()})` : "";
  return new UpstreamError(kind, `${host} refused with ${code}${more}`, {
    code,
  });
}

/**
 * Parses a successful token response. Some providers leave out `token_type`, or
 * send `expires_in` as a string.
 *
 * @see RFC 6749 §5.1
 */
export function parseTokenAnswer(
  answer: Readonly<Record<string, unknown>>,
  host: string,
): TokenAnswer {
  const { access_token, token_type = "Bearer", expires_in } = answer;
  if (typeof access_token !== "string" || access_token === "") {
    throw misbehaved(`${host} granted no access token`);
  }
  if (!ACCESS_TOKEN.test(access_token)) {
    throw misbehaved(`${host} granted an access token that no header may hold`);
  }
  // RFC 6749 §7.1: a client must not use a token of an unknown type.
  if (typeof token_type !== "string" || token_type.toLowerCase() !== "bearer") {
    throw misbehaved(`${host} granted a token that is not a bearer token`);
  }
  const lifetime = expires_in ?? NaN;
  if (typeof lifetime !== "number" && typeof lifetime !== "string") {
    throw misbehaved(`${host} granted a token whose expires_in is no number`);
  }
  const seconds = Math.floor(Number(lifetime));
  const now = Math.floor(Date.now() / 1000);
  return {
    tokens: {
      accessToken: access_token,
      tokenType: token_type,
      refreshToken: text(answer.refresh_token),
      scope: text(answer.scope),
      ...seconds > 0 && seconds <= MAX_LIFETIME_SECONDS && {
        expiresAt: now + seconds,
        refreshAt: now + secondsOfUse(seconds),
      },
    },
    idToken: text(answer.id_token),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
