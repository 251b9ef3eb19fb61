/**
 * Keys that are never stored. A grant's provider tokens are sealed with a
 * random data key. The data key is sealed once for each live credential of the
 * grant, with a key derived from that credential. Anyone who has only the
 * database can decrypt no provider tokens.
 *
 * @module
 */
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url, fromBase64url } from "../crypto/crypto.ts";
import { seal, unseal } from "../crypto/seal.ts";

/** Makes a key for {@linkcode seal}: 256 random bits. */
export function newDataKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

/**
 * Derives a key from a secret with at least 160 random bits. `purpose` keeps
 * keys for different uses apart.
 *
 * @see RFC 5869
 */
export function deriveKey(secret: string, purpose: string): Uint8Array {
  const encoder = new TextEncoder();
  const info = encoder.encode(`tool-server ${purpose}`);
  return hkdf(sha256, encoder.encode(secret), undefined, info, 32);
}

/** Seals a grant's data key with a key derived from `credential`. */
export function wrapDataKey(
  dataKey: Uint8Array,
  grantId: string,
  credential: string,
): Promise<string> {
  const key = deriveKey(credential, "data key");
  return seal(key, base64url(dataKey), grantId);
}

/** Unseals the data key that {@linkcode wrapDataKey} sealed. */
export async function unwrapDataKey(
  wrapped: string,
  grantId: string,
  credential: string,
): Promise<Uint8Array> {
  const key = deriveKey(credential, "data key");
  return fromBase64url(await unseal(key, wrapped, grantId));
}

/** A provider's tokens for a person, as stored in grants and sessions. */
export interface UpstreamTokens {
  /** The access token for the provider's API. */
  accessToken: string;
  /** The token type as the provider spelled it: `Bearer`, `bearer`. */
  tokenType: string;
  /** The refresh token, if the provider gave one. */
  refreshToken?: string;
  /** The granted `scope`, if the provider's token response had one. */
  scope?: string;
  /** The epoch second at which the access token expires, if it does. */
  expiresAt?: number;
  /**
   * The epoch second from which the access token is refreshed before its use.
   */
  refreshAt?: number;
  /** The `id_token` of the same token response, if it identifies the person. */
  idToken?: string;
}
