/**
 * New grants: of a person who signed in, of a machine, of an assertion, and of
 * an access token that a person makes.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";
import type { AuthorizationRequest } from "./authorization_request.ts";
import { newGrantId } from "./credential.ts";
import type { Grant } from "./grant.ts";
import {
  ACCESS_TOKEN_TTL_SECONDS,
  CODE_TTL_SECONDS,
  GRANT_TTL_SECONDS,
} from "./lifetimes.ts";
import { newPersonalGrantId } from "./personal_token.ts";
import { machineSubject, subjectOf } from "./subject.ts";

/** Makes the grant of an approved request, whose code is not redeemed yet. */
export function openGrant(
  request: AuthorizationRequest,
  { issuer, provider, identity, clientName, scopes = request.scopes, now }: {
    issuer: string;
    /** The `providerId` of the provider that the person signed in at. */
    provider: string;
    identity: Identity;
    clientName: string;
    /**
     * The requested scopes that the person approved and may grant; all by
     * default.
     */
    scopes?: readonly string[];
    now: number;
  },
): Grant {
  return {
    id: newGrantId(),
    issuer,
    resource: request.resource,
    subject: subjectOf(provider, identity),
    identity,
    provider,
    clientId: request.clientId,
    clientName,
    scopes,
    redirectUri: request.redirectUri,
    status: "pending",
    createdAt: now,
    usedAt: now,
    endsAt: now + GRANT_TTL_SECONDS,
    expiresAt: now + CODE_TTL_SECONDS,
  };
}

/**
 * Makes the grant of a client that acts for itself. Its subject cannot be a
 * person's (RFC 9700 §4.15), and it ends with its single access token.
 */
export function openClientGrant(
  { clientId, clientName, scopes, issuer, resource, now }:
    & Pick<Grant, "clientId" | "clientName" | "scopes" | "issuer" | "resource">
    & { now: number },
): Grant {
  const expiresAt = now + ACCESS_TOKEN_TTL_SECONDS;
  return {
    id: newGrantId(),
    issuer,
    resource,
    subject: machineSubject(clientId),
    identity: { subject: clientId, name: clientName },
    clientId,
    kind: "client",
    clientName,
    scopes,
    status: "active",
    createdAt: now,
    usedAt: now,
    endsAt: expiresAt,
    expiresAt,
  };
}

/**
 * Makes the grant of a client that an identity provider vouches for. It ends
 * with its single access token: to go on, the client asks the identity provider
 * again.
 */
export function openAssertedGrant(
  { now, ...members }:
    & Pick<
      Grant,
      | "issuer"
      | "resource"
      | "subject"
      | "identity"
      | "clientId"
      | "clientName"
      | "scopes"
    >
    & { assertedBy: string; now: number },
): Grant {
  const expiresAt = now + ACCESS_TOKEN_TTL_SECONDS;
  return {
    id: newGrantId(),
    ...members,
    kind: "assertion",
    status: "active",
    createdAt: now,
    usedAt: now,
    endsAt: expiresAt,
    expiresAt,
  };
}

/** Makes the grant of an access token that a person makes for a program. */
export function openPersonalGrant(
  { name, seconds, now, ...whose }:
    & Pick<
      Grant,
      "issuer" | "resource" | "subject" | "identity" | "provider" | "scopes"
    >
    & { name: string; seconds: number; now: number },
): Grant {
  return {
    id: newPersonalGrantId(),
    ...whose,
    clientId: "",
    kind: "token",
    clientName: name,
    status: "active",
    createdAt: now,
    usedAt: now,
    endsAt: now + seconds,
    expiresAt: now + seconds,
  };
}
