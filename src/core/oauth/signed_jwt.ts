/**
 * Verifies JWTs signed by others: clients, identity providers, and other
 * authorization servers.
 *
 * @see RFC 8725
 * @module
 */
import {
  errors,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from "jose";
import { CLOCK_TOLERANCE_SECONDS } from "./lifetimes.ts";

/**
 * Asymmetric algorithms only. Never `none`. Never HMAC, where anyone who can
 * verify a signature can also make one.
 *
 * @see RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864
 */
export const SIGNATURE_ALGORITHMS = [
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
];

/** Verifies the signature, times and claims of a JWT. */
export async function verifySignedJwt(
  jwt: string,
  keys: JWTVerifyGetKey,
  { now, ...options }: Omit<JWTVerifyOptions, "currentDate"> & { now: number },
): Promise<JWTVerifyResult> {
  return await jwtVerify(jwt, keys, {
    algorithms: SIGNATURE_ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(now * 1000),
    ...options,
  });
}

const FAULTS_OF_JWT = [
  errors.JWTClaimValidationFailed,
  errors.JWTExpired,
  errors.JWTInvalid,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
];

/**
 * True if the JWT itself is invalid. False if its issuer's keys could not be
 * read.
 */
export function isFaultOfJwt(error: unknown): boolean {
  return FAULTS_OF_JWT.some((Fault) => error instanceof Fault);
}
