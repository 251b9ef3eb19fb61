/**
 * A grant: what a person allowed a client, from sign-in to its end.
 *
 * @module
 */
import type { Caller, Identity } from "../caller.ts";
import type { AuthorizationRequest } from "./authorization_request.ts";
import { newGrantId } from "./credential.ts";
import { newPersonalGrantId } from "./personal_token.ts";
import { newRefreshKey } from "./refresh_token.ts";
import {
  ACCESS_TOKEN_TTL_SECONDS,
  CODE_TTL_SECONDS,
  GRANT_IDLE_TTL_SECONDS,
  GRANT_TTL_SECONDS,
} from "./lifetimes.ts";
import { cutScopes } from "./scope.ts";
import { machineSubject, subjectOf } from "./subject.ts";

/** What a person allowed a client. Times are epoch seconds. */
export interface Grant {
  id: string;
  /** Our base URL when it was made; another server's grants are not ours. */
  issuer: string;
  /** The resource its tokens are for. */
  resource: string;
  /** See {@linkcode subjectOf}: `github:583231`. */
  subject: string;
  identity: Identity;
  clientId: string;
  /**
   * `client`: a machine acts for itself, and it has no provider.
   * `token`: a person made an access token for a program of their own, whose
   * name is `clientName`. `assertion`: an identity provider allowed a client for
   * a person. Absent: a person allowed a client.
   */
  kind?: "client" | "token" | "assertion";
  /** Of an `assertion`: whose word it rests on. */
  assertedBy?: string;
  /** What the client called itself when it was approved. */
  clientName: string;
  scopes: readonly string[];
  /** What they were before the person took some away. */
  grantedScopes?: readonly string[];
  /**
   * What the tags of its refresh tokens are made with; absent where there are
   * none, or only those of an earlier version.
   */
  refreshKey?: string;
  /** When the person paused it: until they resume it, it opens nothing. */
  pausedAt?: number;
  /** Where its code was sent; unknown of grants from before 0.3. */
  redirectUri?: string;
  /** `pending` until its code is redeemed. */
  status: "pending" | "active" | "closed";
  createdAt: number;
  /** Of its last token response; of a `token`, of its use, to the minute. */
  usedAt: number;
  /** It ends here however often it is refreshed. */
  endsAt: number;
  /** It ends here unless it is used again. */
  expiresAt: number;
}

/** The grant of an approved request, waiting for its code to be redeemed. */
export function openGrant(
  request: AuthorizationRequest,
  { issuer, provider, identity, clientName, scopes = request.scopes, now }: {
    issuer: string;
    /** `OAUTH_PROVIDER`. */
    provider: string;
    identity: Identity;
    clientName: string;
    /** Those of the request that the person gave and has; all by default. */
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
 * The grant of a client that acts for itself. Its subject looks like no
 * person's (RFC 9700 §4.15), and it ends with its one access token.
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
 * The grant of a client that an identity provider speaks for. It ends with its
 * one access token: to go on, a client asks the identity provider again.
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

/** The grant of an access token that a person makes for a program. */
export function openPersonalGrant(
  { name, seconds, now, ...whose }:
    & Pick<Grant, "issuer" | "resource" | "subject" | "identity" | "scopes">
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

/**
 * The grant after a token response: alive for another while, but never past
 * its end. Without refresh tokens it lives as long as its access token.
 */
export function useGrant(
  grant: Grant,
  { refreshable, now }: { refreshable: boolean; now: number },
): Grant {
  const ttlSeconds = refreshable
    ? GRANT_IDLE_TTL_SECONDS
    : ACCESS_TOKEN_TTL_SECONDS;
  return {
    ...grant,
    ...refreshable && { refreshKey: grant.refreshKey ?? newRefreshKey() },
    status: "active",
    usedAt: now,
    expiresAt: Math.min(now + ttlSeconds, grant.endsAt),
  };
}

/** A grant that opens nothing until its person resumes it. */
export function pauseGrant(grant: Grant, now: number): Grant {
  return { ...grant, pausedAt: grant.pausedAt ?? now };
}

/** The grant after its pause. */
export function resumeGrant({ pausedAt: _, ...grant }: Grant): Grant {
  return grant;
}

/**
 * The grant with some of its scopes, or none. Only another sign-in gives back
 * what was taken away.
 */
export function narrowGrant(grant: Grant, kept: readonly string[]): Grant {
  const scopes = cutScopes(grant.scopes, kept);
  if (scopes.length === grant.scopes.length) return grant;
  return {
    ...grant,
    scopes,
    grantedScopes: grant.grantedScopes ?? grant.scopes,
  };
}

/** A grant's tombstone. */
export function closeGrant(grant: Grant, now: number): Grant {
  return { ...grant, status: "closed", usedAt: now };
}

/** Whether a grant is good at this server: alive, and made here for it. */
export function isGrantOf(
  grant: Grant,
  { issuer, resource }: { issuer: string; resource: string },
): boolean {
  return grant.status === "active" && grant.issuer === issuer &&
    grant.resource === resource;
}

/**
 * What a person's sessions, tasks and request states are bound to: not the
 * grant, nor the client, which may register anew when it steps up.
 */
export function bindingOf(
  { issuer, resource, subject }: Pick<Grant, "issuer" | "resource" | "subject">,
): string {
  return JSON.stringify([issuer, resource, subject]);
}

/**
 * Whether a grant ends with its one access token, and its client gets another
 * without asking anyone: to change this one would be of no use.
 */
export function isPassing({ kind }: Pick<Grant, "kind">): boolean {
  return kind === "client" || kind === "assertion";
}

/** What its calls are listed under: a passing grant's go on with its next. */
export function ledgerIdOf({ kind, id, subject, clientId }: Grant): string {
  switch (kind) {
    case "client":
      return subject;
    case "assertion":
      return JSON.stringify([subject, clientId]);
    default:
      return id;
  }
}

/** Who a request under a grant is for. */
export function callerOf(
  grant: Grant,
  { scopes, ceiling }: Pick<Caller, "ceiling"> & {
    scopes: readonly string[];
  },
): Caller {
  const { id: grantId, subject, identity, kind } = grant;
  const binding = bindingOf(grant);
  return {
    subject,
    door: kind === "token" ? "token" : "oauth",
    ...kind !== "token" && { clientId: grant.clientId },
    scopes,
    ...ceiling && { ceiling },
    identity,
    binding,
    grantId,
  };
}
