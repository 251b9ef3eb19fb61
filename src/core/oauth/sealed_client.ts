/**
 * Clients that need no record, because their ID is enough to find them. An ID
 * from dynamic registration contains the encrypted registration. So clients can
 * keep their ID for ever, and a flood of registrations cannot fill the
 * database. Another ID is the URL of a client ID metadata document, whose
 * domain vouches for the client.
 * @see draft-ietf-oauth-client-id-metadata-document §3 and §4
 * @module
 */
import { OAuthError } from "../errors.ts";
import { seal, unseal } from "../crypto/crypto.ts";
import {
  type Client,
  CLIENT_ID_MAX_CHARACTERS,
  type ClientMetadata,
  documentUrl,
  isSealedClientId,
  parseClientMetadata,
  shortClientId,
} from "./client.ts";

/**
 * The members of a registration that the client ID contains. Others are only in
 * the registration response.
 */
const KEPT = [
  "redirect_uris",
  "client_name",
  "token_endpoint_auth_method",
  "token_endpoint_auth_methods_supported",
  "grant_types",
  "jwks",
  "jwks_uri",
] as const;

interface Sealed extends Pick<Client, "secretFingerprint" | "issuedAt"> {
  metadata: Pick<ClientMetadata, typeof KEPT[number]>;
}

/**
 * Registers a client under an ID that contains its encrypted registration.
 *
 * @param key a secret of the database, 32 bytes
 * @throws {OAuthError} `invalid_client_metadata` if the registration is too
 * long
 */
export async function sealClient(
  key: Uint8Array,
  client: Client,
): Promise<Client> {
  const { clientId, metadata, secretFingerprint, issuedAt } = client;
  const kept = Object.fromEntries(KEPT.map((name) => [name, metadata[name]]));
  const sealed = { metadata: kept, secretFingerprint, issuedAt };
  const text = await seal(key, JSON.stringify(sealed), clientId);
  const carrying = `${clientId}.${text}`;
  if (carrying.length > CLIENT_ID_MAX_CHARACTERS) {
    throw new OAuthError(
      "invalid_client_metadata",
      "The registration must be shorter, about 2000 bytes of redirect_uris, " +
        "client_name and keys; use jwks_uri in place of jwks",
    );
  }
  return { ...client, clientId: carrying };
}

/**
 * Decrypts the registration in a client ID. Undefined if this server did not
 * issue the ID.
 */
export async function unsealClient(
  key: Uint8Array,
  clientId: string,
): Promise<Client | undefined> {
  if (!isSealedClientId(clientId)) return undefined;
  const name = shortClientId(clientId);
  try {
    const text = await unseal(key, clientId.slice(name.length + 1), name);
    const { metadata, ...rest }: Sealed = JSON.parse(text);
    return {
      ...rest,
      clientId,
      metadata: { ...metadata, response_types: ["code"] },
    };
  } catch {
    return undefined;
  }
}

/**
 * Checks that a client ID is the URL of a client ID metadata document on an
 * allowed host.
 */
export function checkDocumentUrl(
  clientId: string,
  allowedDomains: readonly string[],
): void {
  const url = documentUrl(clientId);
  if (!url) {
    throw new OAuthError(
      "invalid_client",
      "A client_id that begins with https:// must be the plain address of a " +
        "metadata document, with a host name and a path and without a port",
    );
  }
  const { hostname } = url;
  if (allowedDomains.length > 0 && !allowedDomains.includes(hostname)) {
    throw new OAuthError(
      "invalid_client",
      `This server does not accept metadata documents from ${hostname}`,
    );
  }
}

/**
 * Parses a client ID metadata document. Such a client has no secret, because
 * the document is public.
 * @throws {OAuthError} `invalid_client` if the document names another client
 * ID; `invalid_redirect_uri` or `invalid_client_metadata` if its members are
 * wrong
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
