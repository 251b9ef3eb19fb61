/**
 * The identity providers whose assertions are trusted, and the verification of
 * these assertions.
 *
 * @module
 */
import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from "jose";
import type { Identity } from "../../caller.ts";
import { type Clock, now } from "../../clock.ts";
import { OAuthError } from "../../errors.ts";
import { SIGNATURE_ALGORITHMS } from "../rules/algorithms.ts";
import {
  badAssertion,
  ID_JAG_TYPE,
  type TrustedIssuer,
} from "../rules/identity_assertion.ts";
import { CLOCK_TOLERANCE_SECONDS } from "../rules/lifetimes.ts";
import { discovery } from "./discovery.ts";
import { addressRuleOf } from "./google.ts";
import { parseIdentity } from "./identity.ts";
import type { MembershipClaims } from "./memberships.ts";
import { UpstreamError } from "./upstream_error.ts";
import { type UpstreamFetch, upstreamFetch } from "./upstream_fetch.ts";

/** The content of a verified assertion. */
export interface SignedAssertion {
  by: TrustedIssuer;
  claims: JWTPayload;
  /** The person that it is about. */
  identity: Identity;
}

/**
 * Verifies an assertion's signature and issuer.
 *
 * @throws {OAuthError} `invalid_grant`, or `temporarily_unavailable` when the
 * issuer's keys cannot be read
 */
export type VerifyAssertion = (assertion: string) => Promise<SignedAssertion>;

/** Makes the verifier for the trusted issuers; nothing is fetched yet. */
export function assertionVerifier(
  trusted: readonly TrustedIssuer[],
  { memberships, clock, fetch: send = fetch }: {
    /** Gives the claims that hold memberships in an issuer's assertions. */
    memberships(by: TrustedIssuer): MembershipClaims;
    clock: Clock;
    fetch?: typeof fetch;
  },
): VerifyAssertion {
  const fetchUpstream = upstreamFetch(send);
  const byIssuer = new Map(trusted.map((by) => [by.issuer, {
    by,
    discover: discovery(fetchUpstream, by.issuer),
    keysOf: keySets(fetchUpstream),
  }]));

  function issuerOf(assertion: string) {
    let named: string | undefined;
    try {
      named = decodeJwt(assertion).iss;
    } catch (cause) {
      throw badAssertion("assertion must be a JWT", cause);
    }
    const found = byIssuer.get(named ?? "");
    if (found) return found;
    throw badAssertion("iss of the assertion is not trusted here");
  }

  return async function verifyAssertion(assertion) {
    const { by, discover, keysOf } = issuerOf(assertion);
    try {
      const { jwks_uri } = await discover();
      const { payload } = await jwtVerify(assertion, keysOf(jwks_uri), {
        issuer: by.issuer,
        typ: ID_JAG_TYPE,
        algorithms: SIGNATURE_ALGORITHMS,
        requiredClaims: ["sub", "aud", "exp", "iat"],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(now(clock) * 1000),
      });
      return { by, claims: payload, identity: identityIn(by, payload) };
    } catch (cause) {
      if (cause instanceof OAuthError) throw cause;
      throw isAssertionsFault(cause)
        ? badAssertion(
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
      const isOwnAddress = addressRuleOf(by.issuer);
      return parseIdentity(claims, {
        isOwnAddress,
        memberships: memberships(by),
      });
    } catch (cause) {
      throw badAssertion("sub of the assertion must name a person", cause);
    }
  }
}

/**
 * True if the assertion is at fault; other failures are the issuer's or the
 * network's.
 */
function isAssertionsFault(error: unknown): boolean {
  return error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid) &&
    !(error instanceof UpstreamError);
}

/** Makes the key set for the current address; jose caches the keys. */
function keySets(
  fetchUpstream: UpstreamFetch,
): (uri: string) => JWTVerifyGetKey {
  let known: { uri: string; keys: JWTVerifyGetKey } | undefined;
  return function keysOf(uri) {
    if (known?.uri !== uri) {
      known = {
        uri,
        keys: createRemoteJWKSet(new URL(uri), {
          [customFetch]: fetchUpstream,
        }),
      };
    }
    return known.keys;
  };
}
