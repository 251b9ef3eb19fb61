/**
 * Client IDs: ours are a short name, a dot, and the sealed registration; others
 * are addresses of documents, or the operator's choice.
 *
 * @see draft-ietf-oauth-client-id-metadata-document §3
 * @module
 */

/** The longest client ID: it is sent in query strings, among other places. */
export const CLIENT_ID_MAX_CHARACTERS = 3000;

const SEALED = /^([\w-]{22})\.[\w.-]+$/;

/** True if the ID may carry a registration. */
export function isSealedClientId(clientId: string): boolean {
  return clientId.length <= CLIENT_ID_MAX_CHARACTERS && SEALED.test(clientId);
}

/** Returns the short name of an ID, for logs and lists. */
export function shortClientId(clientId: string): string {
  return SEALED.exec(clientId)?.[1] ?? clientId;
}

/** True if a client ID claims to be the address of a metadata document. */
export function namesDocument(clientId: string): boolean {
  return clientId.startsWith("https://");
}

const MAX_URL_CHARACTERS = 1024;

/**
 * Reads a URL that means the same to every reader: https on its usual port,
 * with a host name and a path, written as a parser would print it. Anything
 * that parsers normalize (dot segments, tabs, backslashes, upper-case hosts,
 * numbers for addresses) gives undefined.
 */
export function documentUrl(text: string): URL | undefined {
  const url = text.length <= MAX_URL_CHARACTERS ? URL.parse(text) : null;
  const plain = url !== null && url.href === text && !text.includes("#") &&
    url.protocol === "https:" && url.port === "" && url.pathname !== "/" &&
    url.username === "" && url.password === "";
  // No IP address: people read the host name, and a certificate vouches for it.
  // No quotes, which a URL parser accepts in a host.
  return plain && /^[\w.-]*[a-z_-]$/.test(url.hostname) ? url : undefined;
}

/**
 * True if the present settings still allow a client. A client whose ID carries
 * its registration is always allowed.
 */
export function isKnownClient(
  clientId: string,
  { clients, metadataDocuments: { enabled, allowedDomains } }: {
    /** Clients that the operator set up. */
    clients: readonly { clientId: string }[];
    metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
  },
): boolean {
  if (isSealedClientId(clientId)) return true;
  if (clients.some((client) => client.clientId === clientId)) return true;
  return enabled && namesDocument(clientId) &&
    (allowedDomains.length === 0 ||
      allowedDomains.includes(URL.parse(clientId)?.hostname ?? ""));
}
