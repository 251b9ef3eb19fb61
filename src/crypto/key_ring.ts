/**
 * The operator's keys, which seal what people entrust to the server.
 *
 * @module
 */
import { fingerprint, fromBase64url } from "./crypto.ts";
import { seal, unseal } from "./seal.ts";

/** A sealed text, and the key that opens it. */
export interface Sealed {
  sealed: string;
  keyId: string;
}

/**
 * Seals texts, each for a context that it cannot be moved out of. A service for
 * keys (KMS) may stand behind it.
 */
export interface Sealing {
  /** Names the key that seals from now on. */
  readonly keyId: string;
  seal(text: string, context: string): Promise<Sealed>;
  /** @throws {Error} when the key is gone, or the context is another */
  unseal(sealed: Sealed, context: string): Promise<string>;
}

/** Names a key, without telling anything of it. */
function idOf(key: string): string {
  return fingerprint(`key ${key}`).slice(0, 8);
}

/** Opens a key ring of base64 keys: the first one seals, all of them open. */
export function keyRing(keys: readonly string[]): Sealing {
  const ring = new Map(keys.map((key) => [idOf(key), fromBase64url(key)]));
  const [[keyId, current]] = ring;
  return {
    keyId,
    async seal(text, context) {
      return { sealed: await seal(current, text, context), keyId };
    },
    async unseal({ sealed, keyId }, context) {
      const key = ring.get(keyId);
      if (key) return await unseal(key, sealed, context);
      throw new Error(`No key of SECRETS_KEYS is called ${keyId}`);
    },
  };
}
