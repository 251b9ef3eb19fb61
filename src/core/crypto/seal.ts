/**
 * Texts sealed with a key of 32 bytes: JWE in compact form, `dir` with A256GCM.
 * jose is loaded when the first text is sealed or opened, not with the server.
 *
 * @module
 * @see RFC 7516 §3.1, RFC 7518 §4.5 and §5.3
 */
import { base64url, fingerprint, fromBase64url } from "./crypto.ts";

/** The parts of a JWE in compact form. */
const PARTS = 5;

/** The longest header: it is parsed before the text is known to be ours. */
const MAX_HEADER_CHARACTERS = 128;

const HEADER = { alg: "dir", enc: "A256GCM" } as const;

/** The keys in use: jose would import bytes anew for each text. */
const imported = new WeakMap<Uint8Array, Promise<CryptoKey>>();

function importKey(key: Uint8Array): Promise<CryptoKey> {
  let importing = imported.get(key);
  if (!importing) {
    importing = crypto.subtle.importKey(
      "raw",
      Uint8Array.from(key),
      "AES-GCM",
      false,
      ["encrypt", "decrypt"],
    );
    imported.set(key, importing);
  }
  return importing;
}

/** Seals a text, bound to `context`, which the result does not show. */
export async function seal(
  key: Uint8Array,
  text: string,
  context?: string,
): Promise<string> {
  const { CompactEncrypt } = await import("jose");
  return await new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({ ...HEADER, kid: keyIdOf(key, context) })
    .encrypt(await importKey(key));
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
  // A stranger may send millions of dots.
  const parts = sealed.split(".", PARTS + 1);
  if (
    parts.length !== PARTS || parts[0].length > MAX_HEADER_CHARACTERS ||
    !parts.every(isCanonical)
  ) {
    throw new Error("Not as it was sealed");
  }
  const { compactDecrypt } = await import("jose");
  const { plaintext, protectedHeader } = await compactDecrypt(
    sealed,
    await importKey(key),
    {
      keyManagementAlgorithms: [HEADER.alg],
      contentEncryptionAlgorithms: [HEADER.enc],
    },
  );
  if (protectedHeader.kid !== keyIdOf(key, context)) {
    throw new Error("Sealed for another context");
  }
  return new TextDecoder().decode(plaintext);
}

/**
 * Gives the `kid` that binds a text to its context. Others may read it, so that
 * the key is part of it: without, they could try every person of a provider.
 */
function keyIdOf(key: Uint8Array, context?: string): string | undefined {
  return context === undefined
    ? undefined
    : fingerprint(`${base64url(key)} ${context}`);
}

/**
 * True if a text is base64url, and the unused bits at its end are zero (RFC 4648
 * §3.5). Decodes only the end, because the text may be long.
 */
function isCanonical(part: string): boolean {
  const end = part.slice(part.length - part.length % 4);
  return /^[\w-]*$/.test(part) && base64url(fromBase64url(end)) === end;
}
