/**
 * Client ID metadata documents: a client whose identifier is the address of
 * its own metadata, so that its domain vouches for it.
 *
 * @see draft-ietf-oauth-client-id-metadata-document §3 and §4
 * @module
 */
import { OAuthError } from "../errors.ts";
import type { Client } from "./client.ts";
import { parseClientMetadata } from "./client_metadata.ts";

const DOCUMENT_URL =
  /^https:\/\/[a-z0-9.-]+(?::\d{1,5})?(\/[\w.~:/?@!$&'()*+,;=%-]+)$/i;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

/** Whether a client identifier is meant as the address of a document. */
export function isDocumentUrl(clientId: string): boolean {
  return clientId.startsWith("https://");
}

/**
 * Checks a document's address: https, a host, a path, nothing that two
 * parsers could read differently; and its host, if only some are welcome.
 *
 * @throws {OAuthError} `invalid_client`
 */
export function checkDocumentUrl(
  clientId: string,
  allowedDomains: readonly string[],
): void {
  const match = clientId.length <= 1024 ? DOCUMENT_URL.exec(clientId) : null;
  if (!match || DOT_SEGMENT.test(match[1])) {
    throw new OAuthError(
      "invalid_client",
      "The client identifier is not the address of a metadata document",
    );
  }
  const { hostname } = new URL(clientId);
  if (allowedDomains.length > 0 && !allowedDomains.includes(hostname)) {
    throw new OAuthError(
      "invalid_client",
      "This server does not accept metadata documents from that domain",
    );
  }
}

/**
 * The client that a document describes. It has no secret, because a public
 * document cannot share one.
 *
 * @throws {OAuthError} `invalid_client` when it is not the document of
 * `clientId`; `invalid_redirect_uri` or `invalid_client_metadata` when its
 * content is wrong
 */
export function parseMetadataDocument(
  clientId: string,
  document: unknown,
  now: number,
): Client {
  const { client_id, client_secret, client_name } = (document ?? {}) as Record<
    string,
    unknown
  >;
  if (client_id !== clientId) {
    throw new OAuthError(
      "invalid_client",
      "The client's metadata document names another client",
    );
  }
  const metadata = parseClientMetadata(document);
  if (typeof client_name !== "string" || client_name === "") {
    throw new OAuthError(
      "invalid_client_metadata",
      "A metadata document needs a client_name",
    );
  }
  if (
    client_secret !== undefined ||
    metadata.token_endpoint_auth_method.startsWith("client_secret_")
  ) {
    throw new OAuthError(
      "invalid_client_metadata",
      "A metadata document cannot rely on a shared secret",
    );
  }
  return {
    clientId,
    metadata,
    issuedAt: now,
    domain: new URL(clientId).hostname,
  };
}
