/**
 * Refresh tokens that prove where they were made. No used one is kept: the tag
 * of one that comes back says that it was used. Anyone may know the name of a
 * grant, but a token with a tag is made with the grant's key only.
 *
 * @module
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url, fromBase64url, isSameSecret, randomId } from "../crypto.ts";
import { mintCredential } from "./credential.ts";

/** RFC 6749 §10.10 asks for 160 bits that no one can guess. */
const RANDOM_BYTES = 20;
/** RFC 2104 §5 asks for at least 80 bits. The token keeps its length. */
const TAG_BYTES = 12;
const SECRET_CHARACTERS = 43;

/** A new key for the refresh tokens of a grant. */
export function newRefreshKey(): string {
  return randomId(16);
}

/** A new refresh token of a grant, with a tag. */
export function mintRefreshToken(grantId: string, refreshKey: string): string {
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
  const secret = taggedSecret(random, refreshKey);
  return mintCredential("refresh_token", grantId, secret);
}

/**
 * Whether a refresh token of a grant was made with its key; those of earlier
 * versions were not.
 */
export function isMinted(refreshToken: string, refreshKey: string): boolean {
  const secret = refreshToken.slice(-SECRET_CHARACTERS);
  const random = fromBase64url(secret).subarray(0, RANDOM_BYTES);
  // As text: there are several ways to write the same bytes.
  return isSameSecret(secret, taggedSecret(random, refreshKey));
}

function taggedSecret(random: Uint8Array, refreshKey: string): string {
  const tag = hmac(sha256, fromBase64url(refreshKey), random);
  return base64url(
    Uint8Array.of(...random, ...tag.subarray(0, TAG_BYTES)),
  );
}
