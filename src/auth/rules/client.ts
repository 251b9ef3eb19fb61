/**
 * A client of any origin, and its registration on the wire.
 *
 * @see RFC 7591
 * @module
 */
import { fingerprint, randomId } from "../../crypto/crypto.ts";
import { type ClientMetadata, parseClientMetadata } from "./client_metadata.ts";
import { shortClientId } from "./client_id.ts";

/** A program that asks for access. */
export interface Client {
  clientId: string;
  metadata: ClientMetadata;
  /** The fingerprint of the client secret, for confidential clients. */
  secretFingerprint?: string;
  /** Epoch seconds; 0 for one that the operator set up. */
  issuedAt: number;
  /** The host that vouches for it, if it has a metadata document. */
  domain?: string;
  /** True if the operator set it up, and so vouches for it. */
  isConfigured?: boolean;
}

/** A dynamic registration, and its secret, which is shown only this once. */
export interface Registration {
  client: Client;
  clientSecret?: string;
}

/**
 * Registers the client that a body describes.
 *
 * @throws {import("../../errors.ts").OAuthError} `invalid_redirect_uri` or
 * `invalid_client_metadata`
 */
export function registerClient(body: unknown, now: number): Registration {
  const metadata = parseClientMetadata(body);
  const client: Client = {
    clientId: randomId(16),
    metadata,
    issuedAt: now,
  };
  if (!metadata.token_endpoint_auth_method.startsWith("client_secret_")) {
    return { client };
  }
  const clientSecret = randomId();
  client.secretFingerprint = fingerprint(clientSecret);
  return { client, clientSecret };
}

/** Prints the registration response (RFC 7591 §3.2.1). */
export function printRegistration(
  { client, clientSecret }: Registration,
): Record<string, unknown> {
  return {
    client_id: client.clientId,
    client_id_issued_at: client.issuedAt,
    ...clientSecret !== undefined &&
      { client_secret: clientSecret, client_secret_expires_at: 0 },
    ...client.metadata,
  };
}

/** Gives the name of a client for people. */
export function clientName({ clientId, metadata, domain }: Client): string {
  return metadata.client_name ?? domain ?? shortClientId(clientId);
}
