/**
 * CORS on every answer: a page on another origin can never use a cookie, so any
 * origin is allowed.
 *
 * @module
 * @see Fetch Standard, CORS protocol
 */

/** The headers of an answer that a page in a browser may read. */
export const EXPOSED_HEADERS = [
  "Mcp-Session-Id",
  "WWW-Authenticate",
  "Mcp-Protocol-Version",
  "Retry-After",
];

/** The CORS headers of an answer that is not a preflight's. */
export const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": EXPOSED_HEADERS.join(", "),
} as const;
