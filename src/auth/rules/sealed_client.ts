/**
 * Client IDs that carry their registration. Clients keep an ID for ever, and
 * are stuck if `/authorize` no longer knows it. A server that stores no
 * registrations forgets none, and no stranger can fill its database.
 *
 * @module
 */
import { OAuthError } from "../../errors.ts";
import { seal, unseal } from "../../crypto/seal.ts";
import type { Client } from "./client.ts";
import {
  CLIENT_ID_MAX_CHARACTERS,
  isSealedClientId,
  shortClientId,
} from "./client_id.ts";
import type { ClientMetadata } from "./client_metadata.ts";

/** The needed members of a registration; others are only echoed. */
type Kept = Pick<
  ClientMetadata,
  | "redirect_uris"
  | "client_name"
  | "token_endpoint_auth_method"
  | "token_endpoint_auth_methods_supported"
  | "grant_types"
  | "jwks"
  | "jwks_uri"
>;

interface Sealed extends Pick<Client, "secretFingerprint" | "issuedAt"> {
  metadata: Kept;
}

/**
 * Gives a client an ID that carries its registration.
 *
 * @param key a secret of the database, 32 bytes
 * @throws {OAuthError} `invalid_client_metadata` when the registration is too
 * long
 */
export async function sealClient(
  key: Uint8Array,
  client: Client,
): Promise<Client> {
  const { clientId, metadata, secretFingerprint, issuedAt } = client;
  const sealed: Sealed = {
    metadata: {
      redirect_uris: metadata.redirect_uris,
      client_name: metadata.client_name,
      token_endpoint_auth_method: metadata.token_endpoint_auth_method,
      token_endpoint_auth_methods_supported:
        metadata.token_endpoint_auth_methods_supported,
      grant_types: metadata.grant_types,
      jwks: metadata.jwks,
      jwks_uri: metadata.jwks_uri,
    },
    secretFingerprint,
    issuedAt,
  };
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

/** Opens the client that an ID carries, if it carries one of ours. */
export async function openClient(
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
