/**
 * How long everything lives, in seconds.
 *
 * @module
 */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** From the client's authorization request to our code: sign-in included. */
export const AUTHORIZATION_REQUEST_TTL_SECONDS = 10 * MINUTE;
/**
 * How long one process may take to redeem the provider's code: longer than
 * discovery, two tries at the token endpoint, its keys and two user endpoints
 * can take together, at 10 seconds each.
 */
export const SIGN_IN_LEASE_SECONDS = 100;
/** RFC 6749 §4.1.2 allows ten minutes; clients need a few seconds. */
export const CODE_TTL_SECONDS = MINUTE;
/** How long a used code is remembered, so that its replay is noticed. */
export const USED_CODE_TTL_SECONDS = DAY;
export const ACCESS_TOKEN_TTL_SECONDS = HOUR;
/** A grant ends when its refresh token was not used for so long. */
export const GRANT_IDLE_TTL_SECONDS = 30 * DAY;
/** A grant ends after this, however often it was refreshed. */
export const GRANT_TTL_SECONDS = 90 * DAY;
/** How long a used refresh token still answers with its successor pair. */
export const SUCCESSOR_TTL_SECONDS = 30;
/** How long a browser's approvals are remembered. */
export const APPROVAL_TTL_SECONDS = 90 * DAY;
/**
 * How long a document is believed at least, whatever its headers say, so that
 * `no-store` is not a fetch for every token request; and at most.
 */
export const DOCUMENT_FRESH_SECONDS = { min: 5 * MINUTE, max: DAY };
/** How often at most a document is fetched anew for a key it does not have. */
export const DOCUMENT_COOLDOWN_SECONDS = MINUTE;
/** How long a stale document still serves grants when its host is down. */
export const DOCUMENT_TTL_SECONDS = 30 * DAY;
/** How far the clock of anyone who signed a token may be from ours. */
export const CLOCK_TOLERANCE_SECONDS = MINUTE;
/** The latest `exp` of a client assertion. */
export const ASSERTION_MAX_TTL_SECONDS = HOUR;
/**
 * How long one process may take to refresh a grant's provider token: longer
 * than discovery and two tries at the token endpoint, at 10 seconds each, and
 * the time that is spent on storing the answer.
 */
export const REFRESH_LEASE_SECONDS = 60;
/** How long a request waits for a refresh, its own or another's. */
export const REFRESH_WAIT_SECONDS = 15;
/** How long a process tries to store what a provider gave. */
export const REFRESH_STORE_SECONDS = 10 * MINUTE;
/** A provider token with less than this left is refreshed before its use. */
export const UPSTREAM_MARGIN_SECONDS = MINUTE;
