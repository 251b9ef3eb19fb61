/**
 * Encryption whose key is never stored. A grant's provider tokens are sealed
 * with a random data key; the data key is sealed once for each live credential
 * of the grant, with a key derived from that credential. Whoever holds only
 * the database opens nothing.
 *
 * @module
 */
import { hkdfSync } from "node:crypto";
import { base64url, compactDecrypt, CompactEncrypt } from "jose";

/** A new key for {@linkcode seal}: 256 random bits. */
export function newDataKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

/**
 * A key made of a secret with at least 256 bits of its own. `purpose` keeps
 * keys for different ends apart.
 *
 * @see RFC 5869
 */
export function deriveKey(secret: string, purpose: string): Uint8Array {
  return new Uint8Array(
    hkdfSync("sha256", secret, "", `tool-server ${purpose}`, 32),
  );
}

/**
 * A text encrypted and bound to `context`: a JWE in compact form, `dir` with
 * A256GCM, the context in its protected header, which is the associated data.
 *
 * @see RFC 7516 §3.1, RFC 7518 §4.5 and §5.3
 */
export function seal(
  key: Uint8Array,
  context: string,
  text: string,
): Promise<string> {
  return new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: context })
    .encrypt(key);
}

/**
 * The text of {@linkcode seal}.
 *
 * @throws {Error} when the key, the context or a single bit differs
 */
export async function unseal(
  key: Uint8Array,
  context: string,
  sealed: string,
): Promise<string> {
  const { plaintext, protectedHeader } = await compactDecrypt(sealed, key, {
    keyManagementAlgorithms: ["dir"],
    contentEncryptionAlgorithms: ["A256GCM"],
  });
  if (protectedHeader.kid !== context) {
    throw new Error("Sealed for another context");
  }
  return new TextDecoder().decode(plaintext);
}

/** A grant's data key, sealed so that `credential` opens it. */
export function wrapDataKey(
  dataKey: Uint8Array,
  grantId: string,
  credential: string,
): Promise<string> {
  return seal(
    deriveKey(credential, "data key"),
    grantId,
    base64url.encode(dataKey),
  );
}

/** The data key of {@linkcode wrapDataKey}. */
export async function unwrapDataKey(
  wrapped: string,
  grantId: string,
  credential: string,
): Promise<Uint8Array> {
  return base64url.decode(
    await unseal(deriveKey(credential, "data key"), grantId, wrapped),
  );
}
