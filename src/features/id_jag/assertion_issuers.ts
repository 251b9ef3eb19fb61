/**
 * Verifies assertions (ID-JAG) of the trusted identity providers: signature,
 * `iss` and `typ`.
 *
 * @module
 */
import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  type JWTPayload,
  type JWTVerifyGetKey,
} from "jose";
import type { Identity } from "../../core/caller.ts";
import { type Clock, now } from "../../core/clock.ts";
import { OAuthError } from "../../core/errors.ts";
import { ID_JAG_TYPE } from "./identity_assertion.ts";
import type { TrustedIssuer } from "../../core/oauth/subject.ts";
import { invalidGrant } from "../../core/oauth/parameters.ts";
import { isFaultOfJwt, verifySignedJwt } from "../../core/oauth/signed_jwt.ts";
import { metadataReader } from "../../core/provider/discovery.ts";
import {
  addressRuleOf,
  type MembershipClaims,
  parseIdentity,
} from "../../core/provider/identity.ts";
import {
  type UpstreamFetch,
  upstreamFetch,
} from "../../core/provider/upstream_fetch.ts";

/**
 * Verifies an assertion's signature and issuer, and returns its claims and
 * person.
 *
 * @throws {OAuthError} `invalid_grant`, or `temporarily_unavailable` if the
 * issuer's keys cannot be read
 */
export type VerifyAssertion = (
  assertion: string,
) => Promise<{ by: TrustedIssuer; claims: JWTPayload; identity: Identity }>;

/** Makes the verifier for the trusted issuers, without a request. */
export function assertionVerifier(
  trusted: readonly TrustedIssuer[],
  { memberships, clock }: {
    /**
     * Returns the names of the claims that list groups in an issuer's
     * assertions.
     */
    memberships(by: TrustedIssuer): MembershipClaims;
    clock: Clock;
  },
): VerifyAssertion {
  const fetchUpstream = upstreamFetch(fetch);
  const byIssuer = new Map(trusted.map((by) => [by.issuer, {
    by,
    discover: metadataReader(fetchUpstream, by.issuer),
    keysOf: keySets(fetchUpstream),
  }]));

  function issuerOf(assertion: string) {
    let named: string | undefined;
    try {
      named = decodeJwt(assertion).iss;
    } catch (cause) {
      throw invalidGrant("assertion must be a JWT", cause);
    }
    const found = byIssuer.get(named ?? "");
    if (found) return found;
    throw invalidGrant("iss of the assertion is not trusted here");
  }

  return async function verifyAssertion(assertion) {
    const { by, discover, keysOf } = issuerOf(assertion);
    try {
      const { jwks_uri } = await discover();
      const { payload } = await verifySignedJwt(assertion, keysOf(jwks_uri), {
        issuer: by.issuer,
        typ: ID_JAG_TYPE,
        requiredClaims: ["sub", "aud", "exp", "iat"],
        now: now(clock),
      });
      return { by, claims: payload, identity: identityIn(by, payload) };
    } catch (cause) {
      if (cause instanceof OAuthError) throw cause;
      throw isFaultOfJwt(cause)
        ? invalidGrant(
          `assertion must be a live ${ID_JAG_TYPE} signed by its issuer`,
          cause,
        )
        : new OAuthError(
          "temporarily_unavailable",
          "The keys of the assertion's issuer cannot be read",
          { cause },
        );
    }
  };

  function identityIn(by: TrustedIssuer, claims: JWTPayload): Identity {
    try {
      return parseIdentity(claims, {
        isOwnAddress: addressRuleOf(by.issuer),
        memberships: memberships(by),
      });
    } catch (cause) {
      throw invalidGrant("sub of the assertion must name a person", cause);
    }
  }
}

/**
 * Makes the reader of JWK sets. It reuses the last set, because jose caches
 * keys in it.
 */
function keySets(
  fetchUpstream: UpstreamFetch,
): (uri: string) => JWTVerifyGetKey {
  let known = "";
  let keys: JWTVerifyGetKey;
  return function keysOf(uri) {
    if (known !== uri) {
      keys = createRemoteJWKSet(new URL(uri), { [customFetch]: fetchUpstream });
      known = uri;
    }
    return keys;
  };
}
