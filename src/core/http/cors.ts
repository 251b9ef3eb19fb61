/**
 * CORS headers for every response. Any origin is allowed, because a page of
 * another origin can never use a cookie.
 *
 * @module
 * @see Fetch Standard, CORS protocol
 */

/** The response headers that a page's script may read. */
export const EXPOSED_HEADERS = [
  "Mcp-Session-Id",
  "WWW-Authenticate",
  "Mcp-Protocol-Version",
  "Retry-After",
];

/** The CORS headers of every response except those to preflights. */
export const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": EXPOSED_HEADERS.join(", "),
} as const;
