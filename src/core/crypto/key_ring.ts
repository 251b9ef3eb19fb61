/**
 * The operator's keys (`SECRETS_KEYS`), which encrypt people's account keys and
 * tokens.
 *
 * @module
 */
import { fingerprint, fromBase64url } from "./crypto.ts";
import { seal, unseal } from "./seal.ts";
import type { Sealing } from "./sealing.ts";

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
