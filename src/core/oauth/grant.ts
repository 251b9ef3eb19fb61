/**
 * A grant: a person's permission for a client, from sign-in to its end.
 *
 * @module
 */
import type { Caller, Identity } from "../caller.ts";
import { isBlocked } from "./allowed_users.ts";
import { newRefreshKey } from "./credential.ts";
import type { Lifetimes } from "./lifetimes.ts";
import type { ListEntry } from "./list_entry.ts";
import type { RefreshTokens } from "./refresh_token.ts";
import { resourceOf } from "./resource.ts";
import { scopesWithin } from "./scope.ts";

/** A person's permission for a client. Times are epoch seconds. */
export interface Grant {
  id: string;
  /** The base URL when the grant was made; the grant is valid at no other. */
  issuer: string;
  resource: string;
  /** See {@linkcode import("./subject.ts").subjectOf}: `github:583231`. */
  subject: string;
  identity: Identity;
  /**
   * The id of the provider where the person signed in; absent without a
   * sign-in.
   */
  provider?: string;
  clientId: string;
  /**
   * `client`: a machine acts for itself, without a provider. `token`: a person
   * made an access token for a program of their own, whose name is
   * `clientName`. `assertion`: an identity provider allowed a client for a
   * person. Absent: a person allowed a client on the consent page.
   */
  kind?: "client" | "token" | "assertion";
  /** For an `assertion`: the identity provider that issued it. */
  assertedBy?: string;
  /** For a `token`: true if it may act with its person's accounts. */
  mayUseAccounts?: true;
  /** The client's name when the person approved it. */
  clientName: string;
  scopes: readonly string[];
  /** The scopes before the person revoked some. */
  grantedScopes?: readonly string[];
  /**
   * The key for the HMAC tags of the grant's refresh tokens; absent if it has
   * none.
   */
  refreshKey?: string;
  /**
   * The refresh tokens that are accepted; absent before the code is redeemed.
   */
  refreshTokens?: RefreshTokens;
  /**
   * The time of a pause: tokens are refused until the person resumes the grant.
   */
  pausedAt?: number;
  /** The fingerprint of the terms by which operators find the person. */
  listedAs?: string;
  /** The redirect URI that got the code; absent if there was no code. */
  redirectUri?: string;
  /**
   * The fingerprint of the cookie of the browser that signed in; absent without
   * a browser.
   */
  browserFingerprint?: string;
  /**
   * `pending` until the code is redeemed, `closed` when the grant has ended.
   */
  status: "pending" | "active" | "closed";
  createdAt: number;
  /**
   * The last time after the sign-in at which the provider confirmed the
   * identity.
   */
  confirmedAt?: number;
  /**
   * The time of the last token response; for a `token`, of its last use, to the
   * minute.
   */
  usedAt: number;
  /** The time at which the grant ends even if it is refreshed. */
  endsAt: number;
  /** The time at which the grant ends unless it is used again. */
  expiresAt: number;
}

/**
 * Extends a grant after a token response, but never past its end. A grant
 * without refresh tokens lives as long as its access token.
 */
export function useGrant(
  grant: Grant,
  { refreshable, now, lifetimes }: {
    refreshable: boolean;
    now: number;
    lifetimes: Lifetimes;
  },
): Grant {
  const ttlSeconds = refreshable
    ? lifetimes.idleSeconds
    : lifetimes.accessTokenSeconds;
  return {
    ...grant,
    ...refreshable && { refreshKey: grant.refreshKey ?? newRefreshKey() },
    status: "active",
    usedAt: now,
    expiresAt: Math.min(now + ttlSeconds, grant.endsAt),
  };
}

/**
 * Shortens a grant to the lifetimes that are now set; it may be expired then.
 */
export function withinLifetimes(grant: Grant, lifetimes: Lifetimes): Grant {
  const { kind, createdAt, usedAt, refreshKey } = grant;
  const seconds = kind === "token"
    ? lifetimes.personalTokenSeconds
    : kind === undefined
    ? lifetimes.grantSeconds
    : lifetimes.accessTokenSeconds;
  const endsAt = Math.min(grant.endsAt, createdAt + seconds);
  const idleAt = kind === undefined && refreshKey !== undefined
    ? usedAt + lifetimes.idleSeconds
    : endsAt;
  return {
    ...grant,
    endsAt,
    expiresAt: Math.min(grant.expiresAt, endsAt, idleAt),
  };
}

/**
 * Returns the time at which a grant's access token expires by the lifetimes
 * that are now set.
 *
 * @param token `issuedAt` is by default the time of the last token response
 */
export function endOfToken(
  grant: Grant,
  { expiresAt, issuedAt = grant.usedAt }: {
    expiresAt: number;
    issuedAt?: number;
  },
  lifetimes: Lifetimes,
): number {
  const latest = grant.kind === "token"
    ? Infinity
    : issuedAt + lifetimes.accessTokenSeconds;
  const { expiresAt: ended } = withinLifetimes(grant, lifetimes);
  return Math.min(expiresAt, ended, latest);
}

/** Pauses a grant: its tokens are refused until the person resumes it. */
export function pauseGrant(grant: Grant, now: number): Grant {
  return { ...grant, pausedAt: grant.pausedAt ?? now };
}

export function resumeGrant({ pausedAt: _, ...grant }: Grant): Grant {
  return grant;
}

/** Removes all scopes but `kept`. Only another sign-in adds scopes again. */
export function narrowGrant(grant: Grant, kept: readonly string[]): Grant {
  const scopes = scopesWithin(grant.scopes, kept);
  if (scopes.length === grant.scopes.length) return grant;
  return {
    ...grant,
    scopes,
    grantedScopes: grant.grantedScopes ?? grant.scopes,
  };
}

/**
 * Makes a grant's tombstone: closed and not paused. Of the identity only the
 * provider's subject stays, or all of it if `blocked` names the person or the
 * client.
 */
export function closeGrant(
  { listedAs: _, pausedAt: __, refreshTokens: ___, ...grant }: Grant,
  now: number,
  blocked: readonly ListEntry[] = [],
): Grant {
  const { subject } = grant.identity;
  const identity = isBlocked(grant, blocked) ? grant.identity : { subject };
  return { ...grant, identity, status: "closed", usedAt: now };
}

/** True if a grant is active, and was made by this issuer for this resource. */
export function isGrantOf(
  grant: Grant,
  { issuer, resource }: { issuer: string; resource: string },
): boolean {
  return grant.status === "active" && grant.issuer === issuer &&
    grant.resource === resource;
}

/** A person, as stored in grants and account sessions. */
export type KnownPerson = Pick<Grant, "subject" | "identity" | "provider">;

/**
 * Returns the name that a person's sessions, tasks and request states are bound
 * to. It holds neither the grant nor the client, because a client may register
 * anew when it asks for more scopes.
 */
export function bindingOf(
  { issuer, resource, subject }: Pick<Grant, "issuer" | "resource" | "subject">,
): string {
  return JSON.stringify([issuer, resource, subject]);
}

/** Returns the binding of a person at the server with a base URL. */
export function bindingAt(baseUrl: string, subject: string): string {
  const resource = resourceOf(baseUrl);
  return bindingOf({ issuer: baseUrl, resource, subject });
}

/**
 * True if a grant ends with its only access token, and the client gets the next
 * grant without a person. Changing such a grant would have no effect.
 */
export function hasSingleToken({ kind }: Pick<Grant, "kind">): boolean {
  return kind === "client" || kind === "assertion";
}

/**
 * Returns the id of a grant's ledger, which all grants of a machine, or of one
 * client by assertions for one person, share.
 */
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

export function callerOf(
  grant: Grant,
  { scopes, ceiling }: Pick<Caller, "ceiling"> & {
    scopes: readonly string[];
  },
): Caller {
  const { id: grantId, subject, identity, provider, kind } = grant;
  const binding = bindingOf(grant);
  return {
    subject,
    door: kind === "token" ? "token" : "oauth",
    ...kind !== "token" && { clientId: grant.clientId },
    ...grant.mayUseAccounts && { mayUseAccounts: true },
    scopes,
    ...ceiling && { ceiling },
    identity,
    ...provider !== undefined && { provider },
    binding,
    grantId,
  };
}
