/**
 * Random names, fingerprints and comparisons. Everything here is synchronous
 * where it can be: these run on every request.
 *
 * @module
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";

const encoder = new TextEncoder();

/** The form of base64 that needs no escape in a URL. */
const URL_SAFE = { alphabet: "base64url", omitPadding: true } as const;

/**
 * Makes an unguessable name: `bytes` random bytes as base64url without padding.
 * 32 bytes give 43 characters and 256 bits.
 */
export function randomId(bytes = 32): string {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** Prints bytes as base64 with padding (RFC 4648 §4). */
export function base64(bytes: Uint8Array): string {
  // Deno loads btoa() when it is first called; Node.js 24 has only that.
  if (typeof bytes.toBase64 === "function") return bytes.toBase64();
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Prints bytes as base64url without padding (RFC 4648 §5). */
export function base64url(bytes: Uint8Array): string {
  if (typeof bytes.toBase64 === "function") return bytes.toBase64(URL_SAFE);
  return base64(bytes).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Parses base64, padded or not. @throws {Error} for another text */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  // Node.js 24 has no such function.
  if (typeof Uint8Array.fromBase64 === "function") {
    return Uint8Array.fromBase64(text);
  }
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** Parses base64url. @throws {Error} for another text */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}

/** Parses hexadecimal digits. @throws {Error} for another text */
export function fromHex(text: string): Uint8Array {
  return hexToBytes(text);
}

/** Computes the 32 bytes of SHA-256 of a UTF-8 text (FIPS 180-4). */
export function digest(text: string): Uint8Array {
  return sha256(encoder.encode(text));
}

/**
 * Computes SHA-256 of a UTF-8 text as base64url: the database has this in place
 * of every secret, so that no one who reads the database can use them.
 */
export function fingerprint(text: string): string {
  return base64url(digest(text));
}

/** Computes SHA-256 of bytes in lowercase hexadecimal. */
export function sha256Hex(bytes: Uint8Array): string {
  return bytesToHex(sha256(bytes));
}

/**
 * Computes {@linkcode fingerprint} of a text that may have megabytes, off the
 * event loop, which the synchronous function would block for 10 ms a megabyte.
 */
export async function fingerprintOfLong(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return base64url(new Uint8Array(hash));
}

/**
 * True if a text is the secret one. The time depends only on the length of the
 * presented text: neither on where the texts differ nor on the length of the
 * secret. Comparing two digests would be as safe, but cost a call a fifth more.
 */
export function isSameSecret(presented: string, secret: string): boolean {
  let difference = presented.length ^ secret.length;
  for (let index = 0; index < presented.length; index++) {
    difference |= presented.charCodeAt(index) ^
      secret.charCodeAt(index % secret.length);
  }
  return difference === 0;
}
