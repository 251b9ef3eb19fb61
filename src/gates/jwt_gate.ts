/**
 * The gate of `AUTH_STRATEGY=jwt`: access tokens of somebody else's
 * authorization server. We are only its resource.
 *
 * @see RFC 9068 §4
 * @module
 */
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  jwtVerify,
} from "jose";
import type { JwtConfig } from "../config/auth.ts";
import type { Authenticated } from "../caller.ts";
import { ChallengeError, HttpError } from "../errors.ts";
import { parseBearer, printChallenge } from "../oauth/challenge.ts";
import { SIGNATURE_ALGORITHMS } from "../oauth/algorithms.ts";
import { CLOCK_TOLERANCE_SECONDS } from "../oauth/lifetimes.ts";
import { type Clock, now } from "../clock.ts";
import { recent } from "../store/recent.ts";
import { resourceMetadataUrl } from "../oauth/resource.ts";
import type { Gate } from "./gate.ts";

/**
 * RFC 9068 §2.1 asks for `at+jwt`; many servers write `JWT` or nothing. What
 * names another kind, such as a logout token, is not an access token.
 */
const ACCESS_TOKEN_TYPES = [undefined, "jwt", "at+jwt", "application/at+jwt"];

/** What is remembered of a token for up to a second. */
interface Verified {
  authenticated: Authenticated;
  expiresAt: number;
}

/** Lets in whoever holds a token of that server, made for this resource. */
export function jwtGate(
  { issuer, audience, jwksUrl, baseUrl, clock }: Omit<JwtConfig, "strategy"> & {
    baseUrl: string;
    clock: Clock;
  },
): Gate {
  const keys = createRemoteJWKSet(new URL(jwksUrl), {
    [customFetch]: fetchKeys,
  });
  const verified = recent(verify, { clock });

  async function verify(token: string): Promise<Verified> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: SIGNATURE_ALGORITHMS,
        requiredClaims: ["exp", "sub"],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(now(clock) * 1000),
      });
      if (!ACCESS_TOKEN_TYPES.includes(protectedHeader.typ?.toLowerCase())) {
        throw new errors.JWTInvalid(`typ is ${protectedHeader.typ}`);
      }
      return {
        authenticated: { caller: callerOf(payload) },
        expiresAt: payload.exp! + CLOCK_TOLERANCE_SECONDS,
      };
    } catch (cause) {
      throw isTokensFault(cause)
        ? new ChallengeError(
          "The access token is not valid for this server",
          "invalid_token",
          [],
          { cause },
        )
        // A 401 would make clients throw good tokens away.
        : new HttpError(503, "The token issuer's keys cannot be read", {
          "retry-after": "5",
        }, { cause });
    }
  }

  function admit(found: Verified | undefined): Authenticated {
    if (found && found.expiresAt > now(clock)) return found.authenticated;
    throw new ChallengeError("The access token has expired", "invalid_token");
  }

  return {
    authenticate(headers) {
      const token = parseBearer(headers.get("authorization"));
      if (token === undefined) throw new ChallengeError("Sign in first");
      const found = verified.find(token);
      return found instanceof Promise ? found.then(admit) : admit(found);
    },

    challenge: (refusal, sid) =>
      printChallenge(refusal, {
        resource_metadata: resourceMetadataUrl(baseUrl, sid),
      }),
  };
}

/** As jose would, but a refused answer's body is not left hanging. */
async function fetchKeys(
  url: string,
  init: RequestInit,
): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.ok) await response.body?.cancel();
  return response;
}

function isTokensFault(error: unknown): boolean {
  return error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported;
}

function callerOf(payload: JWTPayload): Authenticated["caller"] {
  const text = (claim: unknown) =>
    typeof claim === "string" ? claim : undefined;
  const { iss, sub, client_id, azp, scope, scp } = payload;
  const clientId = text(client_id) ?? text(azp);
  if (typeof sub !== "string" || sub === "") {
    throw new errors.JWTInvalid("sub is not a text");
  }
  const granted = scope ?? scp;
  return {
    subject: sub,
    clientId,
    scopes: Array.isArray(granted)
      ? granted.filter((one) => typeof one === "string")
      : text(granted)?.split(" ").filter((one) => one !== "") ?? [],
    identity: {
      subject: sub,
      name: text(payload.name),
      email: text(payload.email),
      emailVerified: payload.email_verified === true,
    },
    // Tokens and clients come and go; the person stays.
    binding: JSON.stringify([iss, sub]),
  };
}
