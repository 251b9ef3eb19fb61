/**
 * The caller in the claims of another issuer's JWT.
 *
 * @see RFC 9068 §2.2
 * @module
 */
import { errors, type JWTPayload } from "jose";
import type { Caller } from "../../caller.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { issuerId, jwtBinding } from "../../oauth/subject.ts";
import type { JwtConfig } from "../../settings/credentials.ts";
import {
  addressRuleOf,
  claimAt,
  isTrueClaim,
} from "../../provider/identity.ts";

/**
 * Makes the caller from the claims of a verified JWT.
 *
 * @throws {errors.JWTInvalid} if the claims name no person
 */
export function callerFromClaims(
  payload: JWTPayload,
  token: string,
  { scopeClaims, clientClaims, subjectIn }:
    & Pick<JwtConfig, "scopeClaims" | "clientClaims">
    & {
      subjectIn(id: string, sub: string): string;
    },
): Caller {
  const text = (claim: unknown) =>
    typeof claim === "string" ? claim : undefined;
  const { iss, sub } = payload;
  const email = text(payload.email);
  const isOwnAddress = addressRuleOf(iss!) ?? (() => true);
  const clientId = clientClaims.map((name) => text(claimAt(payload, name)))
    .find((name) => name);
  if (typeof sub !== "string" || sub === "") {
    throw new errors.JWTInvalid("sub must be a text");
  }
  const granted = scopeClaims.map((name) => claimAt(payload, name))
    .find((claim) => claim !== undefined && claim !== null);
  const id = issuerId({ issuer: iss! });
  return {
    subject: subjectIn(id, sub),
    door: "jwt",
    ...clientId === undefined ? { tokenId: fingerprint(token) } : { clientId },
    scopes: Array.isArray(granted)
      ? granted.filter((one) => typeof one === "string")
      : text(granted)?.split(" ").filter((one) => one !== "") ?? [],
    identity: {
      subject: sub,
      name: text(payload.name),
      email,
      emailVerified: isTrueClaim(payload.email_verified) &&
        isOwnAddress(email ?? "", payload),
    },
    binding: jwtBinding(id, sub),
  };
}
