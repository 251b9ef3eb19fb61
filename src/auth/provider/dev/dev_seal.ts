/**
 * The codes and tokens of the development provider: sealed, so that any process
 * with the same database can read them and nothing is stored.
 *
 * @module
 */
import {
  type CryptoKey,
  EncryptJWT,
  importJWK,
  type JWK,
  jwtDecrypt,
  SignJWT,
} from "jose";
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { base64url, randomId } from "../../../crypto/crypto.ts";
import type { SecretStore } from "../../../store/secrets.ts";

/** Kinds of sealed values; one never passes for another. */
export type Sealed = "code" | "access" | "refresh";

/** Seals, opens and signs with the development provider's keys. */
export interface DevSeal {
  seal(
    kind: Sealed,
    claims: Readonly<Record<string, unknown>>,
    ttlSeconds: number,
  ): Promise<string>;
  /** Opens claims that were sealed as `kind`; undefined for anything else. */
  open(kind: Sealed, sealed: string): Promise<Claims | undefined>;
  /** Signs claims as a JWT. */
  sign(claims: Readonly<Record<string, unknown>>): Promise<string>;
  /** Gives the key that verifies signatures. */
  publicKey(): Promise<JWK>;
}

/** Sealed claims, with an end and an id. */
export type Claims = Record<string, unknown> & { exp: number; jti: string };

/** DER of an Ed25519 private key up to its 32 bytes (RFC 8410 §7). */
const ED25519_PREFIX = "302e020100300506032b657004220420";

/** Makes the seal. Its keys are made once and are the same in every process. */
export function devSeal(secrets: SecretStore): DevSeal {
  let keys: Promise<Keys> | undefined;
  function found(): Promise<Keys> {
    keys ??= findKeys(secrets).catch((error) => {
      keys = undefined;
      throw error;
    });
    return keys;
  }

  return {
    async seal(kind, claims, ttlSeconds) {
      const { sealing } = await found();
      return await new EncryptJWT({ ...claims })
        .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
        .setAudience(kind)
        .setJti(randomId(16))
        .setExpirationTime(`${ttlSeconds}s`)
        .encrypt(sealing);
    },
    async open(kind, sealed) {
      const { sealing } = await found();
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
    async sign(claims) {
      const { signing } = await found();
      return await new SignJWT({ ...claims })
        .setProtectedHeader({ alg: "EdDSA", kid: "dev" })
        .setIssuedAt()
        .setExpirationTime("5m")
        .sign(signing);
    },
    publicKey: async () => (await found()).publicKey,
  };
}

interface Keys {
  sealing: Uint8Array;
  signing: CryptoKey;
  publicKey: JWK;
}

async function findKeys(secrets: SecretStore): Promise<Keys> {
  const [sealing, seed] = await Promise.all([
    secrets.find("dev-provider-seal"),
    secrets.find("dev-provider-signature"),
  ]);
  const privateKey = createPrivateKey({
    key: Buffer.concat([Buffer.from(ED25519_PREFIX, "hex"), seed]),
    format: "der",
    type: "pkcs8",
  });
  const publicKey = createPublicKey(privateKey).export({ format: "jwk" });
  const jwk = { ...publicKey, kid: "dev", alg: "EdDSA", use: "sig" } as JWK;
  const signing = await importJWK({ ...jwk, d: base64url(seed) }, "EdDSA");
  return { sealing, signing: signing as CryptoKey, publicKey: jwk };
}
