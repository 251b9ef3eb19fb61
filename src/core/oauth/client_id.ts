/**
 * Client IDs. Ours are a short name, a dot, and the sealed registration. Others
 * are URLs of client ID metadata documents, or the operator's choice.
 *
 * @see draft-ietf-oauth-client-id-metadata-document §3
 * @module
 */

/**
 * The maximum length of a client ID, which is sent in query strings, among
 * other places.
 */
export const CLIENT_ID_MAX_CHARACTERS = 3000;

const SEALED = /^([\w-]{22})\.[\w.-]+$/;

/** True if a client ID has the form of ours, which carries a registration. */
export function isSealedClientId(clientId: string): boolean {
  return clientId.length <= CLIENT_ID_MAX_CHARACTERS && SEALED.test(clientId);
}

/** Returns the short name of a client ID, for logs and lists. */
export function shortClientId(clientId: string): string {
  return SEALED.exec(clientId)?.[1] ?? clientId;
}

/**
 * True if a client ID claims to be the URL of a client ID metadata document.
 */
export function namesDocument(clientId: string): boolean {
  return clientId.startsWith("https://");
}

const MAX_URL_CHARACTERS = 1024;

/**
 * Parses a URL that means the same to every parser: https on the default port,
 * with a host name and a path, in its normalized form. Returns undefined for a
 * URL that parsers would normalize (dot segments, tabs, backslashes, upper-case
 * hosts, numbers for addresses).
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
 * True if the settings still allow a client. A client whose ID carries its
 * registration is always allowed.
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
