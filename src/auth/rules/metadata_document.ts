/**
 * Client ID metadata documents: a client whose identifier is the address of
 * its own metadata, so that its domain vouches for it.
 *
 * @see draft-ietf-oauth-client-id-metadata-document §3 and §4
 * @module
 */
import { OAuthError } from "../../errors.ts";
import { type Client, parseClientMetadata } from "./client.ts";
import { isDocumentUrl } from "./client_id.ts";

/**
 * Checks the address of a client's document, and if its host is allowed.
 *
 * @throws {OAuthError} `invalid_client`
 */
export function checkDocumentUrl(
  clientId: string,
  allowedDomains: readonly string[],
): void {
  if (!isDocumentUrl(clientId)) {
    throw new OAuthError(
      "invalid_client",
      "A client_id that begins with https:// must be the plain address of a " +
        "metadata document, with a host name and a path and without a port",
    );
  }
  const { hostname } = new URL(clientId);
  if (allowedDomains.length > 0 && !allowedDomains.includes(hostname)) {
    throw new OAuthError(
      "invalid_client",
      `This server does not accept metadata documents from ${hostname}`,
    );
  }
}

/**
 * Parses the client that a document describes. It has no secret, because a
 * public document cannot hold one.
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
      "client_id in the metadata document must be the document's own address",
    );
  }
  const metadata = parseClientMetadata(document, { vouched: true });
  if (typeof client_name !== "string" || client_name === "") {
    throw new OAuthError(
      "invalid_client_metadata",
      "A metadata document must have a client_name",
    );
  }
  if (
    client_secret !== undefined ||
    metadata.token_endpoint_auth_method.startsWith("client_secret_")
  ) {
    throw new OAuthError(
      "invalid_client_metadata",
      "A metadata document must not rely on a client secret: it is public",
    );
  }
  return {
    clientId,
    metadata,
    issuedAt: now,
    domain: new URL(clientId).hostname,
  };
}
