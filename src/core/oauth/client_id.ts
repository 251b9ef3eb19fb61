/**
 * Client IDs. One that this server issues is a short name, a dot, and the
 * encrypted registration. Others are URLs of client ID metadata documents, or
 * chosen by the operator.
 * @see draft-ietf-oauth-client-id-metadata-document §3
 * @module
 */

/** The maximum length of a client ID, because query strings contain it. */
export const CLIENT_ID_MAX_CHARACTERS = 3000;

const SEALED = /^([\w-]{22})\.[\w.-]+$/;

/** True if a client ID looks as if this server had issued it. */
export function isSealedClientId(clientId: string): boolean {
  return clientId.length <= CLIENT_ID_MAX_CHARACTERS && SEALED.test(clientId);
}

/** Returns the short form of a client ID, for logs and lists. */
export function shortClientId(clientId: string): string {
  return SEALED.exec(clientId)?.[1] ?? clientId;
}

/** True if a client ID looks like the URL of a client ID metadata document. */
export function isDocumentId(clientId: string): boolean {
  return clientId.startsWith("https://");
}

const MAX_URL_CHARACTERS = 1024;

/**
 * Parses the URL of a client ID metadata document: https on the default port,
 * with a host name and a path. Undefined for a URL that parsers may read
 * differently: one with dot segments, tabs, backslashes, an upper-case host, or
 * a number as its address.
 */
export function documentUrl(text: string): URL | undefined {
  const url = text.length <= MAX_URL_CHARACTERS ? URL.parse(text) : null;
  const plain = url !== null && url.href === text && !text.includes("#") &&
    url.protocol === "https:" && url.port === "" && url.pathname !== "/" &&
    url.username === "" && url.password === "";
  // No IP address: people read the host name, and a certificate proves it.
  // No quotes, which URL parsers accept in a host.
  return plain && /^[\w.-]*[a-z_-]$/.test(url.hostname) ? url : undefined;
}

/**
 * True if the settings still allow a client. A dynamically registered client is
 * always allowed.
 */
export function isKnownClient(
  clientId: string,
  { clients, metadataDocuments: { enabled, allowedDomains } }: {
    /** The clients of `OAUTH_CLIENTS`. */
    clients: readonly { clientId: string }[];
    metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
  },
): boolean {
  if (isSealedClientId(clientId)) return true;
  if (clients.some((client) => client.clientId === clientId)) return true;
  return enabled && isDocumentId(clientId) &&
    (allowedDomains.length === 0 ||
      allowedDomains.includes(URL.parse(clientId)?.hostname ?? ""));
}
