/**
 * Refresh tokens that prove that we made them, so that used ones need not be
 * stored: if a token comes back that is not the current one but has a valid
 * tag, it was used before. The id of a grant is not secret, but a valid tag
 * needs the grant's key.
 *
 * @module
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import {
  base64url,
  fromBase64url,
  isSameSecret,
  randomId,
} from "../../crypto/crypto.ts";
import { mintCredential } from "./credential.ts";

/** RFC 6749 §10.10 asks for 160 bits that cannot be guessed. */
const RANDOM_BYTES = 20;
/** RFC 2104 §5 asks for at least 80 bits; with 96 the length stays. */
const TAG_BYTES = 12;
const SECRET_CHARACTERS = 43;

/** Makes a key for the refresh tokens of a grant. */
export function newRefreshKey(): string {
  return randomId(16);
}

/** Makes a refresh token of a grant, with a tag. */
export function mintRefreshToken(grantId: string, refreshKey: string): string {
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
  const secret = taggedSecret(random, refreshKey);
  return mintCredential("refresh_token", grantId, secret);
}

/** True if a refresh token was made with the grant's key; a grant may have none. */
export function isMinted(refreshToken: string, refreshKey?: string): boolean {
  if (refreshKey === undefined) return false;
  const secret = refreshToken.slice(-SECRET_CHARACTERS);
  const random = fromBase64url(secret).subarray(0, RANDOM_BYTES);
  // Compared as text: the same bytes can be written in several ways.
  return isSameSecret(secret, taggedSecret(random, refreshKey));
}

function taggedSecret(random: Uint8Array, refreshKey: string): string {
  const tag = hmac(sha256, fromBase64url(refreshKey), random);
  return base64url(
    Uint8Array.of(...random, ...tag.subarray(0, TAG_BYTES)),
  );
}
