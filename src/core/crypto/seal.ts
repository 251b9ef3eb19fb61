/**
 * Texts sealed with a key of 32 bytes: JWE in compact form, `dir` with A256GCM.
 * The cipher is loaded when the first text is sealed or opened, not with the
 * server. It works at once: WebCrypto would hand each text to another thread.
 *
 * @module
 * @see RFC 7516 §3.1 and §5.1, RFC 7518 §4.5 and §5.3
 */
import { base64url, fingerprint, fromBase64url } from "./crypto.ts";

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
const encoder = new TextEncoder();

/** Seals a text, bound to `context`, which the result does not show. */
export async function seal(
  key: Uint8Array,
  text: string,
  context?: string,
): Promise<string> {
  const { createCipheriv } = await import("node:crypto");
  const header = headerOf(key, context);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const cipher = createCipheriv(CIPHER, key, iv);
  cipher.setAAD(encoder.encode(header));
  const sealed = cipher.update(encoder.encode(text));
  cipher.final();
  const parts = [iv, sealed, cipher.getAuthTag()].map(base64url);
  return [header, "", ...parts].join(".");
}

/**
 * Opens the result of {@linkcode seal}.
 *
 * @throws {Error} when the key, the context or a single bit differs
 */
export async function unseal(
  key: Uint8Array,
  sealed: string,
  context?: string,
): Promise<string> {
  const header = headerOf(key, context);
  // Cut at five: a stranger may send millions of dots.
  const [head, noKey, ...parts] = sealed.split(".", 6);
  if (head !== header || noKey !== "" || parts.length !== 3) {
    throw new Error("Not as it was sealed, or for another context");
  }
  const [iv, text, tag] = parts.map(fromCanonical);
  // Deno closes a decipher at its end alone, which a wrong length keeps away.
  if (iv.length !== IV_BYTES || tag.length !== TAG_BYTES) {
    throw new Error("Not as it was sealed");
  }
  const { createDecipheriv } = await import("node:crypto");
  const decipher = createDecipheriv(CIPHER, key, iv);
  decipher.setAAD(encoder.encode(header)).setAuthTag(tag);
  const opened = decipher.update(text);
  decipher.final();
  return new TextDecoder().decode(opened);
}

/**
 * Makes the protected header. Its `kid` binds a text to its context. Others may
 * read it, so the key is part of it: without, they could try every person of a
 * provider.
 */
function headerOf(key: Uint8Array, context?: string): string {
  const kid = context === undefined
    ? undefined
    : fingerprint(`${base64url(key)} ${context}`);
  return base64url(
    encoder.encode(JSON.stringify({ alg: "dir", enc: "A256GCM", kid })),
  );
}

/** Parses base64url whose unused bits are zero, as RFC 4648 §3.5 wants. */
function fromCanonical(part: string): Uint8Array {
  const bytes = fromBase64url(part);
  if (base64url(bytes) !== part) throw new Error("Not as it was sealed");
  return bytes;
}
