/**
 * Checks the responses of passkeys, as browsers send them (WebAuthn Level 3
 * §7). Only this file loads `@simplewebauthn/server`, when someone first makes
 * or uses a passkey.
 *
 * @module
 */
import {
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  type VerifyAuthenticationResponseOpts,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import { base64url, fromBase64url } from "../../core/crypto/crypto.ts";
import { HttpError } from "../../core/errors.ts";
import { isObject } from "../../core/json.ts";
import { ALGORITHMS, type Passkey } from "./passkey_store.ts";

/**
 * The maximum length in characters of a response. One with a long certificate
 * has 10,000.
 */
const MAX_CHARACTERS = 20_000;

/** The expected origin and RP ID, and whether user verification is required. */
type Site = Pick<
  VerifyAuthenticationResponseOpts,
  "expectedOrigin" | "expectedRPID" | "requireUserVerification"
>;

export function refused(cause?: unknown): HttpError {
  return new HttpError(403, "The passkey was not accepted", {
    cause,
    situation: "passkey refused",
  });
}

function parse(text: string): { id: string } {
  try {
    const value = text.length <= MAX_CHARACTERS && JSON.parse(text);
    if (isObject(value) && typeof value.id === "string") {
      return value as { id: string };
    }
  } catch (error) {
    throw refused(error);
  }
  throw refused();
}

/** Checks the response for a new passkey (§7.1). @throws {HttpError} 403 */
export async function checkMade(
  response: string,
  challenge: string,
  site: Site,
): Promise<Pick<Passkey, "id" | "publicKey" | "counter">> {
  const made = parse(response);
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: made as RegistrationResponseJSON,
    expectedChallenge: challenge,
    ...site,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch((error) => {
    throw refused(error);
  });
  if (!verified) throw refused();
  const { id, publicKey, counter } = registrationInfo.credential;
  return { id, publicKey: base64url(publicKey), counter };
}

/**
 * Checks a passkey's signature of a challenge (§7.2).
 *
 * @returns the passkey's ID and name, and its signature counter
 * @throws {HttpError} 403
 */
export async function checkUsed(
  response: string,
  challenge: string,
  site: Site,
  passkeys: readonly Passkey[],
): Promise<{ id: string; counter: number; name: string }> {
  const used = parse(response);
  const passkey = passkeys.find(({ id }) => id === used.id);
  if (!passkey) throw refused();
  const { id, publicKey, counter, name } = passkey;
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: used as AuthenticationResponseJSON,
    expectedChallenge: challenge,
    ...site,
    credential: { id, publicKey: fromBase64url(publicKey), counter },
  }).catch((error) => {
    throw refused(error);
  });
  if (!verified) throw refused();
  return { id, counter: authenticationInfo.newCounter, name };
}
