/**
 * Data keys, which are never stored in plain text. A grant's provider tokens
 * are encrypted with a random data key. The data key is encrypted for each
 * valid code or token of the grant, with a key derived from it. So the database
 * alone reveals no provider tokens.
 *
 * @module
 */
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url, fromBase64url } from "../crypto/crypto.ts";
import { seal, unseal } from "../crypto/seal.ts";

/** Makes a random 256-bit key for {@linkcode seal}. */
export function newDataKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

/**
 * Derives a key from a secret with at least 160 random bits. Different values
 * of `purpose` give independent keys.
 * @see RFC 5869
 */
export function deriveKey(secret: string, purpose: string): Uint8Array {
  const encoder = new TextEncoder();
  const info = encoder.encode(`tool-server ${purpose}`);
  return hkdf(sha256, encoder.encode(secret), undefined, info, 32);
}

/** Encrypts a grant's data key with a key derived from `credential`. */
export function wrapDataKey(
  dataKey: Uint8Array,
  grantId: string,
  credential: string,
): Promise<string> {
  const key = deriveKey(credential, "data key");
  return seal(key, base64url(dataKey), grantId);
}

/** Decrypts the data key that {@linkcode wrapDataKey} encrypted. */
export async function unwrapDataKey(
  wrapped: string,
  grantId: string,
  credential: string,
): Promise<Uint8Array> {
  const key = deriveKey(credential, "data key");
  return fromBase64url(await unseal(key, wrapped, grantId));
}

/** A provider's tokens for a person. */
export interface UpstreamTokens {
  /** The access token for the provider's API. */
  accessToken: string;
  /** The token type as the provider wrote it: `Bearer`, `bearer`. */
  tokenType: string;
  /** The refresh token; undefined if the provider issued none. */
  refreshToken?: string;
  /** The granted `scope`; undefined if the token response had none. */
  scope?: string;
  /**
   * The epoch second when the access token expires; undefined if it does not.
   */
  expiresAt?: number;
  /** The epoch second from which the access token is refreshed before use. */
  refreshAt?: number;
  /** The `id_token` of the same token response; undefined if it had none. */
  idToken?: string;
}
