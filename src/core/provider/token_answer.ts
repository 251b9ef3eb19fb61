/**
 * The answers of token endpoints. They are not read by oauth4webapi, because
 * real providers deviate from the standard: GitHub refuses with status 200 and
 * answers with forms, others send null.
 *
 * @see RFC 6749 §5
 * @module
 */
import { secondsOfUse } from "../oauth/lifetimes.ts";
import { misbehaved, UpstreamError, type UpstreamTokens } from "./provider.ts";
import { readObject } from "./upstream_fetch.ts";

/** The tokens of an answer, and its `id_token`, if there was one. */
export interface TokenAnswer {
  tokens: UpstreamTokens;
  idToken?: string;
}

const MAX_TOKEN_BYTES = 16 * 1024;

/** True if tokens are too long to be stored: their JSON, or one of them. */
export function isTooLong(tokens: string): boolean {
  return new TextEncoder().encode(tokens).length > MAX_TOKEN_BYTES;
}

/** The kinds of error codes, GitHub's own too; any other is `misbehaved`. */
const KINDS: Readonly<Record<string, UpstreamError["kind"]>> = {
  invalid_grant: "dead",
  bad_verification_code: "dead",
  bad_refresh_token: "dead",
  // Slack's.
  invalid_code: "dead",
  invalid_refresh_token: "dead",
  // Other names for a refresh token that has ended.
  invalid_token: "dead",
  expired_token: "dead",
  token_expired: "dead",
  token_revoked: "dead",
  // OpenID Connect §3.1.2.6: only signing in again helps.
  interaction_required: "dead",
  login_required: "dead",
  consent_required: "dead",
  access_denied: "denied",
  unverified_user_email: "denied",
  temporarily_unavailable: "unavailable",
  server_error: "unavailable",
};

/**
 * The characters of an access token. Bearer tokens have fewer (RFC 6750 §2.1),
 * but providers use others too, and all of these may be in a header.
 */
const ACCESS_TOKEN = /^[\x21-\x7e]+$/;

/** The longest lifetime that is believed; a longer one is ignored. */
const MAX_LIFETIME_SECONDS = 2 ** 31;

/** Finds the refusal in an answer of any status: GitHub's have 200. */
export async function refusalIn(
  response: Response,
  host: string,
): Promise<UpstreamError | undefined> {
  const answer = await readObject(response.clone(), host).catch((error) => {
    if (!response.ok) throw error;
    const none: Record<string, unknown> = {};
    return none;
  });
  // In `suberror` Microsoft says what its invalid_grant means.
  const code = answer.suberror === "consent_required"
    ? answer.suberror
    // Some send it empty with a token.
    : answer.error ?? undefined;
  if (response.ok && code === undefined) return undefined;
  if (typeof code !== "string" || !/^[\w.-]{1,64}$/.test(code)) {
    return misbehaved(`${host} answered ${response.status}`);
  }
  const kind = Object.hasOwn(KINDS, code) ? KINDS[code] : "misbehaved";
  // Without the answer's description, which may repeat a secret. Microsoft's
  // numbers say what an operator has to do.
  const numbers = [answer.error_codes].flat().filter(Number.isInteger);
  const more = numbers.length > 0 ? ` (${numbers.slice(0, 5).join()})` : "";
  return new UpstreamError(kind, `${host} refused with ${code}${more}`, {
    code,
  });
}

/**
 * Parses a successful token answer. Providers leave `token_type` out, and send
 * `expires_in` as a string.
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
  // A client must not use a token of a type it does not know (§7.1).
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
