/**
 * Lifetimes of requests, codes, tokens, grants, documents and leases, in
 * seconds.
 *
 * @module
 */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The time from an authorization request to the code that answers it. */
export const AUTHORIZATION_REQUEST_TTL_SECONDS = 10 * MINUTE;
/**
 * The time in which one process may redeem the provider's code. It is longer
 * than discovery, two tries at the token endpoint, the JWKS and two userinfo
 * requests take together, at 10 seconds each.
 */
export const SIGN_IN_LEASE_SECONDS = 100;
/** RFC 6749 §4.1.2 allows ten minutes; clients need a few seconds. */
export const CODE_TTL_SECONDS = MINUTE;
/**
 * The time for which a used code is remembered, so that its reuse is detected.
 */
export const USED_CODE_TTL_SECONDS = DAY;
/** The time after which a grant ends, even if it is refreshed. */
export const GRANT_TTL_SECONDS = 90 * DAY;
/**
 * A token response is replayed only if its access token is valid for longer
 * than this. Otherwise the client gets a new access token.
 */
export const REPLAY_MARGIN_SECONDS = MINUTE;
/**
 * The time for which rules trust a verified address. After it, a refresh asks
 * the provider if the address still belongs to the person.
 */
export const IDENTITY_RECHECK_SECONDS = DAY;
/**
 * The time for which a used refresh token is still answered with the same
 * response (a replay), counted from the first call with the access token of
 * that response.
 */
export const REPLAY_SECONDS = 30;
/** The age up to which a sign-in at the account page counts as recent. */
export const RECENT_SIGN_IN_SECONDS = 5 * MINUTE;
/** The time for which a browser's approvals are remembered. */
export const APPROVAL_TTL_SECONDS = 90 * DAY;
/**
 * The limits of the time for which a client ID metadata document is cached,
 * whatever its headers say. Without the minimum, `no-store` would cause a fetch
 * for every request.
 */
export const DOCUMENT_FRESH_SECONDS = { min: 5 * MINUTE, max: DAY };
/** The minimum time between two fetches of a JWKS for a missing key. */
export const DOCUMENT_COOLDOWN_SECONDS = MINUTE;
/** The time for which a stale document may be used while its host is down. */
export const DOCUMENT_TTL_SECONDS = 30 * DAY;
/** The accepted difference between a signer's clock and ours. */
export const CLOCK_TOLERANCE_SECONDS = MINUTE;
/** The maximum time until the `exp` of an assertion. */
export const ASSERTION_MAX_TTL_SECONDS = HOUR;
/**
 * The time in which one process may refresh a grant's provider token. It is
 * longer than discovery and two tries at the token endpoint, at 10 seconds
 * each, plus the time to store the token response.
 */
export const REFRESH_LEASE_SECONDS = 60;
/** The time for which a request waits for a refresh at the provider. */
export const REFRESH_WAIT_SECONDS = 15;
/** The time for which a process tries to store the provider's tokens. */
export const REFRESH_STORE_SECONDS = 10 * MINUTE;
/** The time before a provider's token expires from which it is refreshed. */
export const UPSTREAM_MARGIN_SECONDS = MINUTE;

/**
 * Returns the seconds for which a provider's token of this lifetime is used:
 * all but a minute, or at least half of a short lifetime.
 */
export function secondsOfUse(lifetimeSeconds: number): number {
  return Math.max(
    lifetimeSeconds - UPSTREAM_MARGIN_SECONDS,
    Math.floor(lifetimeSeconds / 2),
  );
}

/** The lifetimes that an operator may set, in seconds. */
export interface Lifetimes {
  accessTokenSeconds: number;
  /** The time after which a grant ends if its refresh token is not used. */
  idleSeconds: number;
  /** The time after which a grant ends, even if it is refreshed. */
  grantSeconds: number;
  /** The maximum lifetime of a personal token. */
  personalTokenSeconds: number;
}

export const DEFAULT_LIFETIMES: Readonly<Lifetimes> = {
  accessTokenSeconds: HOUR,
  idleSeconds: 30 * DAY,
  grantSeconds: GRANT_TTL_SECONDS,
  personalTokenSeconds: 365 * DAY,
};
