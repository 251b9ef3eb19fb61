/**
 * The codes and tokens of the development provider: sealed, so that any process
 * with the same database can read them and nothing is stored.
 *
 * @module
 */
import { EncryptJWT, jwtDecrypt } from "jose";
import { randomId } from "../../../crypto/crypto.ts";
import type { SecretStore } from "../../../store/secrets.ts";

/** Kinds of sealed values; one never passes for another. */
type Sealed = "code" | "access" | "refresh";

/** Sealed claims, with an end and an id. */
type Claims = Record<string, unknown> & { exp: number; jti: string };

/** Makes the seal. Its key is made once and is the same in every process. */
export function devSeal(secrets: SecretStore) {
  let known: Promise<Uint8Array> | undefined;
  function key(): Promise<Uint8Array> {
    known ??= secrets.find("dev-provider-seal").catch((error) => {
      known = undefined;
      throw error;
    });
    return known;
  }

  return {
    async seal(
      kind: Sealed,
      claims: Readonly<Record<string, unknown>>,
      ttlSeconds: number,
    ): Promise<string> {
      const sealing = await key();
      return await new EncryptJWT({ ...claims })
        .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
        .setAudience(kind)
        .setJti(randomId(16))
        .setExpirationTime(`${ttlSeconds}s`)
        .encrypt(sealing);
    },

    /** Opens claims that were sealed as `kind`; undefined for anything else. */
    async open(kind: Sealed, sealed: string): Promise<Claims | undefined> {
      const sealing = await key();
      try {
        const { payload } = await jwtDecrypt(sealed, sealing, {
          audience: kind,
          requiredClaims: ["exp", "jti"],
        });
        return payload as Claims;
      } catch {
        return undefined;
      }
    },
  };
}
