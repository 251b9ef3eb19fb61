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
import { CODE_TTL_SECONDS, type Lifetimes } from "./lifetimes.ts";
import { newPersonalGrantId } from "./personal_token.ts";
import { machineSubject, subjectOf } from "./subject.ts";

/** Makes the grant of an approved request, whose code is not redeemed yet. */
export function openGrant(
  request: AuthorizationRequest,
  {
    issuer,
    provider,
    identity,
    clientName,
    scopes = request.scopes,
    lifetimes,
    now,
  }: {
    lifetimes: Lifetimes;
    issuer: string;
    /** The `providerId` of the provider that the person signed in at. */
    provider: string;
    identity: Identity;
    clientName: string;
    /** Those that the person approved and may grant; all by default. */
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
    endsAt: now + lifetimes.grantSeconds,
    expiresAt: now + CODE_TTL_SECONDS,
  };
}

/** The members of a grant that its kind decides. */
type Granted = Omit<
  Grant,
  "id" | "status" | "createdAt" | "usedAt" | "endsAt" | "expiresAt"
>;

/** Makes a grant that lives as long as its single access token. */
function openFor(
  seconds: number,
  { id = newGrantId(), now, ...granted }: Granted & {
    id?: string;
    now: number;
  },
): Grant {
  return {
    id,
    ...granted,
    status: "active",
    createdAt: now,
    usedAt: now,
    endsAt: now + seconds,
    expiresAt: now + seconds,
  };
}

/**
 * Makes the grant of a client that acts for itself. Its subject cannot be a
 * person's (RFC 9700 §4.15).
 */
export function openClientGrant(
  client:
    & Pick<Grant, "clientId" | "clientName" | "scopes" | "issuer" | "resource">
    & { now: number },
  { accessTokenSeconds }: Pick<Lifetimes, "accessTokenSeconds">,
): Grant {
  const { clientId, clientName } = client;
  return openFor(accessTokenSeconds, {
    ...client,
    kind: "client",
    subject: machineSubject(clientId),
    identity: { subject: clientId, name: clientName },
  });
}

/**
 * Makes the grant of a client that an identity provider vouches for. To go on,
 * the client asks the identity provider again.
 */
export function openAssertedGrant(
  asserted: Granted & { assertedBy: string; now: number },
  { accessTokenSeconds }: Pick<Lifetimes, "accessTokenSeconds">,
): Grant {
  return openFor(accessTokenSeconds, { ...asserted, kind: "assertion" });
}

/** Makes the grant of an access token that a person makes for a program. */
export function openPersonalGrant(
  { name, seconds, ...person }:
    & Pick<
      Grant,
      "issuer" | "resource" | "subject" | "identity" | "provider" | "scopes"
    >
    & { name: string; seconds: number; now: number },
): Grant {
  return openFor(seconds, {
    ...person,
    id: newPersonalGrantId(),
    clientId: "",
    kind: "token",
    clientName: name,
  });
}
