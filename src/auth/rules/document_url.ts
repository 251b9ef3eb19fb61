/**
 * The addresses of documents that clients publish: their metadata and their
 * keys. The same rule holds for the client ID, for `jwks_uri` and for any
 * address that is fetched.
 *
 * @see draft-ietf-oauth-client-id-metadata-document §3
 * @module
 */

const MAX_LENGTH = 1024;

/**
 * Parses a URL that means the same to every reader: https on its usual port,
 * with a host name and a path, written as a parser would print it. Anything
 * that parsers normalize (dot segments, tabs, backslashes, upper-case hosts,
 * numbers for addresses) is refused.
 *
 * @throws {TypeError}
 */
export function parseDocumentUrl(text: string): URL {
  const url = text.length <= MAX_LENGTH ? URL.parse(text) : null;
  const plain = url !== null && url.href === text && !text.includes("#") &&
    url.protocol === "https:" && url.port === "" && url.pathname !== "/" &&
    url.username === "" && url.password === "";
  // It must be a name, because a certificate vouches for it and people read it.
  if (!plain || /[\d\].]$/.test(url.hostname)) {
    throw new TypeError(
      "It must be a plain https URL with a host name and a path",
    );
  }
  return url;
}

/** True if {@linkcode parseDocumentUrl} accepts the text. */
export function isDocumentUrl(text: string): boolean {
  try {
    parseDocumentUrl(text);
    return true;
  } catch {
    return false;
  }
}
