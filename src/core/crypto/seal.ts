/**
 * Encryption with a key of 32 bytes: JWE in compact serialization, `dir` with
 * A256GCM, which any JWE library can decrypt. A library would encrypt on
 * another thread, which takes five times the processor time.
 *
 * @module
 * @see RFC 7516 §3.1, §5.1 and §5.2, RFC 7518 §4.5 and §5.3
 */
import { shared } from "../shared.ts";
import { base64url, fingerprint, fromBase64url } from "./crypto.ts";

/** The number of parts of a JWE in compact serialization. */
const PARTS = 5;

const IV_BYTES = 12;
const TAG_BYTES = 16;

const encoder = new TextEncoder();
const ciphers = shared(() => import("node:crypto"));

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
 * Anyone can read the header. Without the key in the hash, someone could try
 * all people of a provider, and learn whose text it is.
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
