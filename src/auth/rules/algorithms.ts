/**
 * The signature algorithms that are accepted.
 *
 * @module
 */

/**
 * Asymmetric algorithms only: never `none`, and never HMAC, where anyone who
 * can verify a signature can also make one.
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
