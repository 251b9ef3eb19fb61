/**
 * Authentication for `AUTH_STRATEGY=jwt`: access tokens that other
 * authorization servers issued for this server.
 *
 * @see RFC 9068 §4
 * @module
 */
import { createRemoteJWKSet, customFetch, decodeJwt, errors } from "jose";
import type { JwtConfig } from "../../settings/credentials.ts";
import type { Authenticated, Caller } from "../../caller.ts";
import type { ServiceTokens } from "../../token_exchange.ts";
import { ChallengeError, HttpError } from "../../errors.ts";
import { callerFromClaims } from "./jwt_caller.ts";
import { type Gate, presentedBearer, printChallenge } from "./gate.ts";
import { type Clock, now } from "../../clock.ts";
import { recentReads } from "../../cache.ts";
import { resourceMetadataUrl } from "../../oauth/resource.ts";
import { isFaultOfJwt, verifySignedJwt } from "../../oauth/signed_jwt.ts";
import { BLOCKED_TEXT, isBlocked } from "../../oauth/allowed_users.ts";
import type { ListEntry } from "../../oauth/list_entry.ts";
import type { Person } from "../../oauth/person.ts";
import {
  isSubjectOfOther,
  issuerId,
  parseJwtBinding,
  subjectOf,
} from "../../oauth/subject.ts";
import { upstreamFetch } from "../../provider/upstream_fetch.ts";

/**
 * Subjects that other authentication methods use for callers who are no
 * particular person.
 */
const RESERVED_SUBJECTS = ["anonymous", "operator"];

const KEYS_TIMEOUT_SECONDS = 5;

/** A verified token, cached for up to a second. */
interface Verified {
  authenticated: Authenticated;
  expiresAt: number;
  isBlocked: boolean;
}

/**
 * Authenticates callers by JWTs of trusted issuers, with this server as their
 * audience.
 */
export function jwtDoor(
  options: JwtConfig & {
    baseUrl: string;
    /** The prefixes that other authentication methods put before subjects. */
    otherIds?: readonly string[];
    /** `OAUTH_BLOCKED`. */
    blocked?: readonly ListEntry[];
    /**
     * True if `OAUTH_BLOCKED` lists an e-mail address in one of the person's
     * grants.
     */
    isKnownBlocked?(subject: string): Promise<boolean>;
    /** True if an operator has blocked a person. */
    isBlockedPerson(subject: string): Promise<boolean>;
    /**
     * Starts database reads for a person's calls, in parallel with the check
     * for blocks.
     */
    readAhead?(subject: string): void;
    /** Lets a JWT be exchanged, at its issuer, for tokens of other services. */
    exchange?(id: string, token: string): ServiceTokens | undefined;
    clock: Clock;
  },
): Gate {
  const { issuers, leewaySeconds, otherIds = [], clock } = options;
  const { blocked = [], isKnownBlocked, isBlockedPerson } = options;
  const fetchKeys = upstreamFetch(fetch, KEYS_TIMEOUT_SECONDS);
  const keysOf = new Map(issuers.map(({ issuer, jwksUrl }) => [
    issuer,
    createRemoteJWKSet(new URL(jwksUrl), { [customFetch]: fetchKeys }),
  ]));
  const takenIds = [...otherIds, ...issuers.map(issuerId)];
  const [firstId] = issuers.map(issuerId);
  const verified = recentReads(verify);
  const unblocked = recentReads(async (subject) =>
    !await isBlockedPerson(subject)
  );

  async function verify(token: string): Promise<Verified> {
    const { caller, expiresAt } = await read(token);
    const person = personOf(caller);
    const [id] = parseJwtBinding(caller.binding);
    options.readAhead?.(caller.subject);
    return {
      authenticated: {
        caller,
        exchange: options.exchange?.(id, token),
        isLive: () => isUnblocked(person.subject),
        isAccepted: () => Promise.resolve(expiresAt > now(clock)),
      },
      expiresAt,
      isBlocked: await isShutOut(person),
    };
  }

  function isTrusted(id: string): boolean {
    return issuers.some((issuer) => issuerId(issuer) === id);
  }

  /** True if `OAUTH_BLOCKED` or an operator's block excludes a person. */
  async function isShutOut(person: Person): Promise<boolean> {
    return isBlocked({ ...person, clientId: "" }, blocked) ||
      await isKnownBlocked?.(person.subject) ||
      await isBlockedPerson(person.subject);
  }

  /** True if no operator has blocked a person; cached for up to a second. */
  async function isUnblocked(subject: string): Promise<boolean> {
    return await unblocked.find(subject) === true;
  }

  async function read(
    token: string,
  ): Promise<{ caller: Caller; expiresAt: number }> {
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
        caller: callerFromClaims(payload, token, { ...options, subjectIn }),
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
        // Not 401: clients would discard valid tokens.
        : new HttpError(503, "The token issuer's keys cannot be read", {
          cause,
        });
    }
  }

  /**
   * Makes a person's subject at this server. A person of the first issuer gets
   * the plain `sub`, except if it looks like another subject, or if the same
   * people can also sign in by OAuth. In all other cases, the issuer precedes
   * the `sub`.
   */
  function subjectIn(id: string, sub: string): string {
    const isFree = id === firstId && !otherIds.includes(id) &&
      !RESERVED_SUBJECTS.includes(sub) &&
      !isSubjectOfOther(sub, takenIds);
    return isFree ? sub : subjectOf(id, { subject: sub });
  }

  function admit(found: Verified | undefined): Authenticated {
    if (!found || found.expiresAt <= now(clock)) {
      throw new ChallengeError("The access token has expired", "invalid_token");
    }
    // Not 401, because another token for the same person would be refused, too.
    if (found.isBlocked) throw new HttpError(403, BLOCKED_TEXT);
    return found.authenticated;
  }

  return {
    authenticate(headers) {
      const found = verified.find(presentedBearer(headers));
      return found instanceof Promise ? found.then(admit) : admit(found);
    },

    // JWTs of other issuers cannot be revoked here, so a caller is accepted
    // while their issuer is trusted.
    async restore(caller) {
      if (caller.door !== "jwt") return undefined;
      const [id, sub] = parseJwtBinding(caller.binding);
      const person = personOf(caller);
      if (!isTrusted(id) || await isShutOut(person)) return undefined;
      return {
        // Computed again: only the first issuer of `JWT_ISSUER` has subjects
        // without a prefix, and another issuer may be first now.
        caller: { ...caller, subject: subjectIn(id, sub) },
        isLive: () => isUnblocked(person.subject),
      };
    },

    isConfigured: ({ door, binding }) =>
      door === "jwt" && isTrusted(parseJwtBinding(binding)[0]),

    challenge: (refusal, sid) =>
      printChallenge(refusal, {
        resource_metadata: resourceMetadataUrl(options.baseUrl, sid),
      }),
  };
}

/**
 * Returns the person of a caller. The person's subject always begins with the
 * issuer, even if the caller's subject does not.
 */
function personOf(
  { binding, identity }: Pick<Caller, "binding" | "identity">,
): Person {
  const [id, subject] = parseJwtBinding(binding);
  return {
    subject: subjectOf(id, { subject }),
    identity: identity ?? { subject },
  };
}

/** Normalizes the `typ` of a JWT (RFC 7515 §4.1.9). "" is not changed. */
function mediaType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, "");
}
