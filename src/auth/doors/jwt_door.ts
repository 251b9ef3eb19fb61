/**
 * The door of `AUTH_STRATEGY=jwt`: access tokens of other people's
 * authorization servers. We are only its resource.
 *
 * @see RFC 9068 §4
 * @module
 */
import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type JWTPayload,
} from "jose";
import type { JwtConfig } from "../../settings/credentials.ts";
import type { Authenticated } from "../../caller.ts";
import { ChallengeError, HttpError } from "../../errors.ts";
import { type Gate, presentedBearer, printChallenge } from "./gate.ts";
import { type Clock, now } from "../../clock.ts";
import { recent } from "../../store/recent.ts";
import { resourceMetadataUrl } from "../../oauth/resource.ts";
import { isFaultOfJwt, verifySignedJwt } from "../../oauth/signed_jwt.ts";
import { isSubjectOfOther, issuerId, subjectOf } from "../../oauth/subject.ts";
import { addressRuleOf, claimAt, isTrue } from "../provider/identity.ts";
import { upstreamFetch } from "../provider/upstream_fetch.ts";

/** Subjects of other doors, which are no person's. */
const RESERVED_SUBJECTS = ["anonymous", "operator"];

/** The seconds in which the keys of an issuer must be there. */
const KEYS_TIMEOUT_SECONDS = 5;

/** The result for a token, remembered for up to a second. */
interface Verified {
  authenticated: Authenticated;
  expiresAt: number;
}

/** Lets in the holder of a JWT of a trusted issuer, made for this resource. */
export function jwtDoor(
  options: JwtConfig & {
    baseUrl: string;
    /** The prefixes of the subjects of other doors. */
    otherIds?: readonly string[];
    clock: Clock;
  },
): Gate {
  const { issuers, leewaySeconds, scopeClaims, otherIds = [], clock } = options;
  const fetchKeys = upstreamFetch(fetch, KEYS_TIMEOUT_SECONDS);
  const keysOf = new Map(issuers.map(({ issuer, jwksUrl }) => [
    issuer,
    createRemoteJWKSet(new URL(jwksUrl), { [customFetch]: fetchKeys }),
  ]));
  const takenIds = [...otherIds, ...issuers.map(issuerId)];
  const verified = recent(verify);

  async function verify(token: string): Promise<Verified> {
    try {
      const issuer = decodeJwt(token).iss;
      const keys = issuer === undefined ? undefined : keysOf.get(issuer);
      if (keys === undefined) {
        throw new errors.JWTInvalid("iss must be one of JWT_ISSUER");
      }
      const { payload, protectedHeader } = await verifySignedJwt(token, keys, {
        issuer,
        audience: [...options.audiences],
        requiredClaims: ["exp", "sub"],
        clockTolerance: leewaySeconds,
        now: now(clock),
      });
      const { typ = "" } = protectedHeader as { typ?: unknown };
      if (typeof typ !== "string" || !options.types.includes(mediaType(typ))) {
        throw new errors.JWTInvalid("typ must be one of JWT_TYPE");
      }
      return {
        authenticated: {
          caller: callerIn(payload, { scopeClaims, subjectIn }),
        },
        expiresAt: payload.exp! + leewaySeconds,
      };
    } catch (cause) {
      throw isFaultOfJwt(cause)
        ? new ChallengeError(
          "The access token is not valid for this server",
          "invalid_token",
          [],
          { cause },
        )
        // A 401 would make clients throw good tokens away.
        : new HttpError(503, "The token issuer's keys cannot be read", {
          cause,
        });
    }
  }

  /**
   * Makes a person's subject here. A subject of the first issuer stays as it
   * is, unless another door could have the same.
   */
  function subjectIn(issuer: string, sub: string): string {
    const isFree = issuer === issuers[0].issuer &&
      !RESERVED_SUBJECTS.includes(sub) &&
      !isSubjectOfOther(sub, takenIds);
    return isFree ? sub : subjectOf(issuerId({ issuer }), { subject: sub });
  }

  function admit(found: Verified | undefined): Authenticated {
    if (found && found.expiresAt > now(clock)) return found.authenticated;
    throw new ChallengeError("The access token has expired", "invalid_token");
  }

  return {
    authenticate(headers) {
      const found = verified.find(presentedBearer(headers));
      return found instanceof Promise ? found.then(admit) : admit(found);
    },

    // While its issuer is trusted: no one tells us when a JWT is revoked.
    restore(caller) {
      if (caller.door !== "jwt") return undefined;
      const [issuer, sub] = JSON.parse(caller.binding);
      if (!keysOf.has(issuer)) return undefined;
      // Computed anew: `JWT_ISSUER` may have another issuer first by now.
      return { caller: { ...caller, subject: subjectIn(issuer, sub) } };
    },

    challenge: (refusal, sid) =>
      printChallenge(refusal, {
        resource_metadata: resourceMetadataUrl(options.baseUrl, sid),
      }),
  };
}

/** Normalizes a media type, "" for none (RFC 7515 §4.1.9). */
function mediaType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, "");
}

function callerIn(
  payload: JWTPayload,
  { scopeClaims, subjectIn }: Pick<JwtConfig, "scopeClaims"> & {
    subjectIn(issuer: string, sub: string): string;
  },
): Authenticated["caller"] {
  const text = (claim: unknown) =>
    typeof claim === "string" ? claim : undefined;
  const { iss, sub, client_id, azp } = payload;
  const email = text(payload.email);
  const isOwnAddress = addressRuleOf(iss!) ?? (() => true);
  const clientId = text(client_id) ?? text(azp);
  if (typeof sub !== "string" || sub === "") {
    throw new errors.JWTInvalid("sub must be a text");
  }
  const granted = scopeClaims.map((name) => claimAt(payload, name))
    .find((claim) => claim !== undefined && claim !== null);
  return {
    subject: subjectIn(iss!, sub),
    door: "jwt",
    clientId,
    scopes: Array.isArray(granted)
      ? granted.filter((one) => typeof one === "string")
      : text(granted)?.split(" ").filter((one) => one !== "") ?? [],
    identity: {
      subject: sub,
      name: text(payload.name),
      email,
      emailVerified: isTrue(payload.email_verified) &&
        isOwnAddress(email ?? "", payload),
    },
    // Tokens and clients come and go; the person stays.
    binding: JSON.stringify([iss, sub]),
  };
}
