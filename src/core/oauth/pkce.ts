/**
 * Proof Key for Code Exchange (PKCE), S256 only.
 *
 * @see RFC 7636
 * @module
 */
import { fingerprint, isSameSecret } from "../crypto/crypto.ts";
import { invalidGrant, invalidRequest, type Parameters } from "./parameters.ts";

/** Matches a SHA-256 in base64url, which always has 43 characters. */
const CHALLENGE = /^[\w-]{43}$/;
/** RFC 7636 §4.1. */
const VERIFIER = /^[\w.~-]{43,128}$/;

/**
 * Parses the code challenge of an authorization request.
 *
 * @throws {OAuthError} `invalid_request` if it is missing or its method is not
 * `S256`
 */
export function parseCodeChallenge(parameters: Parameters): string {
  const challenge = parameters.get("code_challenge");
  if (challenge === undefined) {
    throw invalidRequest("PKCE is required: code_challenge is missing");
  }
  // Without a method, it would be `plain` (RFC 7636 §4.3).
  if (parameters.get("code_challenge_method") !== "S256") {
    throw invalidRequest("code_challenge_method must be S256");
  }
  if (!CHALLENGE.test(challenge)) {
    throw invalidRequest(
      "code_challenge must be a SHA-256 digest in base64url: 43 characters",
    );
  }
  return challenge;
}

/** Computes the S256 code challenge of a verifier (RFC 7636 §4.2). */
export function codeChallenge(verifier: string): string {
  return fingerprint(verifier);
}

/** Checks the `code_verifier` of a token request against the code challenge. */
export function checkCodeVerifier(verifier: string, challenge: string): void {
  if (
    !VERIFIER.test(verifier) ||
    !isSameSecret(codeChallenge(verifier), challenge)
  ) {
    throw invalidGrant("code_verifier does not match the code");
  }
}
