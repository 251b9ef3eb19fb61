/**
 * CORS on every answer: no cookie is read where a page on another origin
 * could send one, so any origin may look.
 *
 * @module
 * @see Fetch Standard, CORS protocol
 */

/** What a page in a browser may read of an answer besides its body. */
export const EXPOSED_HEADERS = [
  "Mcp-Session-Id",
  "WWW-Authenticate",
  "Mcp-Protocol-Version",
  "Retry-After",
];

/** The headers of an answer that is not a preflight's. */
export const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": EXPOSED_HEADERS.join(", "),
} as const;
