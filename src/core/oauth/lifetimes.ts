/**
 * Lifetimes of requests, codes, tokens, grants, documents and leases, in
 * seconds.
 *
 * @module
 */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * The time that a person has to sign in, from authorization request to code.
 */
export const AUTHORIZATION_REQUEST_TTL_SECONDS = 10 * MINUTE;
/**
 * The time for one process to redeem the provider's code. It covers discovery,
 * two requests to the token endpoint, the JWKS and two userinfo requests, at 10
 * seconds each.
 */
export const SIGN_IN_LEASE_SECONDS = 100;
/** RFC 6749 §4.1.2 allows ten minutes; clients need a few seconds. */
export const CODE_TTL_SECONDS = MINUTE;
/** The time for which a used code is remembered, to detect its reuse. */
export const USED_CODE_TTL_SECONDS = DAY;
/** The time after which a grant ends, even if it is refreshed. */
export const GRANT_TTL_SECONDS = 90 * DAY;
/**
 * A token response is repeated only if its access token is valid for longer
 * than this. Otherwise a new access token is issued.
 */
export const REPLAY_MARGIN_SECONDS = MINUTE;
/**
 * The time for which a verified address is trusted. After that, a refresh asks
 * the provider if it still belongs to the person.
 */
export const IDENTITY_RECHECK_SECONDS = DAY;
/**
 * The time for which a used refresh token still gets the same response. It
 * starts with the first call that uses the access token in that response.
 */
export const REPLAY_SECONDS = 30;
/** The maximum age of a sign-in at the account page that counts as recent. */
export const RECENT_SIGN_IN_SECONDS = 5 * MINUTE;
/** The time for which a browser's consents to clients are remembered. */
export const CONSENT_TTL_SECONDS = 90 * DAY;
/**
 * The minimum and maximum time for caching a client ID metadata document,
 * whatever its headers say. Without the minimum, `no-store` would cause a fetch
 * for each request.
 */
export const DOCUMENT_FRESH_SECONDS = { min: 5 * MINUTE, max: DAY };
/**
 * The minimum time between two fetches of a JWKS that an unknown key causes.
 */
export const DOCUMENT_COOLDOWN_SECONDS = MINUTE;
/** The time for which a stale document is used while its host is down. */
export const DOCUMENT_TTL_SECONDS = 30 * DAY;
/** The accepted difference between an issuer's clock and this server's. */
export const CLOCK_TOLERANCE_SECONDS = MINUTE;
/** The maximum remaining lifetime of an assertion, until its `exp`. */
export const ASSERTION_MAX_TTL_SECONDS = HOUR;
/**
 * The time for one process to refresh a grant's provider tokens. It covers
 * discovery and two requests to the token endpoint, at 10 seconds each, and
 * storing the response.
 */
export const REFRESH_LEASE_SECONDS = 60;
/**
 * The time for which a request waits for a refresh of the provider's tokens.
 */
export const REFRESH_WAIT_SECONDS = 15;
/** The time for which a process tries to store the provider's new tokens. */
export const REFRESH_STORE_SECONDS = 10 * MINUTE;
/** Provider tokens are refreshed this long before they expire. */
export const UPSTREAM_MARGIN_SECONDS = MINUTE;

/**
 * Returns how many seconds to use an access token of this lifetime: until a
 * minute before it expires, but for at least half of its lifetime.
 */
export function secondsOfUse(lifetimeSeconds: number): number {
  return Math.max(
    lifetimeSeconds - UPSTREAM_MARGIN_SECONDS,
    Math.floor(lifetimeSeconds / 2),
  );
}

/** The lifetimes in the settings. */
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
