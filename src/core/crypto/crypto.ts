/**
 * Random ids, SHA-256 fingerprints, base64 and constant-time comparison.
 * Synchronous where possible, because these run on every request.
 *
 * @module
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";

const encoder = new TextEncoder();

/** The options for base64 that needs no escapes in a URL. */
const URL_SAFE = { alphabet: "base64url", omitPadding: true } as const;

/**
 * Makes an unguessable id: `bytes` random bytes in base64url without padding.
 * 32 bytes give 43 characters and 256 bits.
 */
export function randomId(bytes = 32): string {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** Encodes bytes as base64 with padding (RFC 4648 §4). */
export function base64(bytes: Uint8Array): string {
  // Deno loads `btoa()` at its first call; Node.js 24 lacks `toBase64()`.
  if (typeof bytes.toBase64 === "function") return bytes.toBase64();
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Encodes bytes as base64url without padding (RFC 4648 §5). */
export function base64url(bytes: Uint8Array): string {
  if (typeof bytes.toBase64 === "function") return bytes.toBase64(URL_SAFE);
  return base64(bytes).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
}

/**
 * Decodes base64 with or without padding. @throws {Error} for any other text
 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  // Node.js 24 does not have this function.
  if (typeof Uint8Array.fromBase64 === "function") {
    return Uint8Array.fromBase64(text);
  }
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** Decodes base64url. @throws {Error} for any other text */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}

/** Decodes hexadecimal digits. @throws {Error} for any other text */
export function fromHex(text: string): Uint8Array {
  return hexToBytes(text);
}

/** Computes the 32 bytes of the SHA-256 of a UTF-8 text (FIPS 180-4). */
export function digest(text: string): Uint8Array {
  return sha256(encoder.encode(text));
}

/**
 * Computes the SHA-256 of a UTF-8 text in base64url. The database stores it in
 * place of a secret, so that a reader of the database cannot use the secret.
 */
export function fingerprint(text: string): string {
  return base64url(digest(text));
}

export function sha256Hex(bytes: Uint8Array): string {
  return bytesToHex(sha256(bytes));
}

/**
 * Computes the {@linkcode fingerprint} of a text that may have megabytes, off
 * the event loop. The synchronous function would block for 10 ms per megabyte.
 */
export async function fingerprintOfLong(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return base64url(new Uint8Array(hash));
}

/**
 * True if `presented` equals `secret`. The time depends only on the length of
 * `presented`, so it reveals nothing about the secret. Comparing two digests
 * would be as safe, but make a call a fifth slower.
 */
export function isSameSecret(presented: string, secret: string): boolean {
  let difference = presented.length ^ secret.length;
  for (let index = 0; index < presented.length; index++) {
    difference |= presented.charCodeAt(index) ^
      secret.charCodeAt(index % secret.length);
  }
  return difference === 0;
}
