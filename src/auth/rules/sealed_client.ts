/**
 * Client IDs that carry their registration. Clients keep an ID for ever, and
 * are stuck if `/authorize` no longer knows it. A server that stores no
 * registrations forgets none, and no stranger can fill its database.
 *
 * @module
 */
import { OAuthError } from "../../errors.ts";
import { seal, unseal } from "../../crypto/seal.ts";
import type { Client, ClientMetadata } from "./client.ts";
import {
  CLIENT_ID_MAX_CHARACTERS,
  isSealedClientId,
  shortClientId,
} from "./client_id.ts";

/** The needed members of a registration; others are only echoed. */
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
