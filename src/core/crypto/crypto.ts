/**
 * Random IDs, SHA-256 fingerprints, base64, constant-time comparison, and
 * encryption with a key of 32 bytes: JWE in compact serialization, `dir` with
 * A256GCM. Synchronous where possible, because these run on every request; a
 * JWE library would encrypt on another thread, for five times the processor
 * time.
 *
 * @see RFC 7516 §3.1, §5.1 and §5.2, RFC 7518 §4.5 and §5.3
 * @module
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { makeOnce } from "../cache.ts";
import type { Sealing } from "./sealing.ts";

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
  // Without `btoa()` if possible, because Deno loads it only at its first call.
  // Node.js 24 lacks `toBase64()`.
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

/** The number of parts of a JWE in compact serialization. */
const PARTS = 5;

const IV_BYTES = 12;
const TAG_BYTES = 16;

const ciphers = makeOnce(() => import("node:crypto"));

/**
 * Encrypts a text. Only {@linkcode unseal} with the same `context` can decrypt
 * it. The result does not reveal the context.
 */
export async function seal(
  key: Uint8Array,
  text: string,
  context?: string,
): Promise<string> {
  const header = headerOf(key, context);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const { createCipheriv } = await ciphers();
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  cipher.setAAD(encoder.encode(header));
  const sealed = cipher.update(encoder.encode(text));
  cipher.final();
  const parts = [iv, sealed, cipher.getAuthTag()];
  return [header, "", ...parts.map(base64url)].join(".");
}

/**
 * Decrypts a text from {@linkcode seal}.
 * @throws {Error} if the key, the context or a single bit is different
 */
export async function unseal(
  key: Uint8Array,
  sealed: string,
  context?: string,
): Promise<string> {
  // Limited, because anyone may send millions of dots.
  const [header, encryptedKey, ...parts] = sealed.split(".", PARTS + 1);
  if (
    header !== headerOf(key, context) || encryptedKey !== "" ||
    parts.length !== PARTS - 2 || !parts.every(isCanonical)
  ) {
    throw new Error("Not as it was sealed, or for another context");
  }
  const [iv, text, tag] = parts.map(fromBase64url);
  // Node.js accepts a shorter tag, which can be guessed. Deno refuses it,
  // but never frees the decipher then.
  if (tag.length !== TAG_BYTES) throw new Error("Not as it was sealed");
  const { createDecipheriv } = await ciphers();
  const cipher = createDecipheriv("aes-256-gcm", key, iv);
  cipher.setAAD(encoder.encode(header));
  cipher.setAuthTag(tag);
  const opened = cipher.update(text);
  cipher.final();
  return new TextDecoder().decode(opened);
}

/**
 * Makes the protected header, with a hash of key and context as its `kid`.
 * Without the key in the hash, anyone who reads the header could hash possible
 * contexts, such as people's subjects, and learn whose text it is.
 */
function headerOf(key: Uint8Array, context?: string): string {
  const kid = context === undefined
    ? undefined
    : fingerprint(`${base64url(key)} ${context}`);
  const header = JSON.stringify({ alg: "dir", enc: "A256GCM", kid });
  return base64url(encoder.encode(header));
}

/**
 * True if a text is base64url whose unused last bits are zero (RFC 4648 §3.5).
 * Decodes only the end, because the text may be long.
 */
function isCanonical(part: string): boolean {
  const end = part.slice(part.length - part.length % 4);
  return /^[\w-]*$/.test(part) && base64url(fromBase64url(end)) === end;
}

/** Computes a key's id, which reveals nothing about the key. */
function idOf(key: string): string {
  return fingerprint(`key ${key}`).slice(0, 8);
}

/**
 * Makes a {@linkcode Sealing} from base64 keys. The first one encrypts, all of
 * them decrypt.
 */
export function keyRing(keys: readonly string[]): Sealing {
  const ring = new Map(keys.map((key) => [idOf(key), fromBase64url(key)]));
  const [[keyId, current]] = ring;
  return {
    keyId,
    async seal(text) {
      return { sealed: await seal(current, text), keyId };
    },
    async unseal({ sealed, keyId }) {
      const key = ring.get(keyId);
      return key && await unseal(key, sealed).catch(() => undefined);
    },
  };
}
