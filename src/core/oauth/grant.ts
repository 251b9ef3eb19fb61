/**
 * A grant: what a person allowed a client in one sign-in. This module also
 * decides which of its scopes the present settings still allow, because the
 * operator may have changed the provider, removed the client or blocked the
 * person. And it decides when to ask the provider again about the person,
 * because an e-mail address or a group may pass to another person.
 *
 * @module
 */
import type { Caller, Identity, Membership } from "../caller.ts";
import { isAddressEntry, isAllowed, isBlocked } from "./allowed_users.ts";
import { newRefreshKey } from "./credential.ts";
import { IDENTITY_RECHECK_SECONDS, type Lifetimes } from "./lifetimes.ts";
import type { ListEntry } from "./list_entry.ts";
import type { RefreshTokens } from "./refresh_token.ts";
import { resourceOf } from "./resource.ts";
import { opensNoTool, parseScope, scopesWithin } from "./scope.ts";
import {
  knownIdentity,
  type ProviderIdentity,
  withoutMemberships,
} from "./person.ts";
import type { Permissions } from "./permissions.ts";
import { type Client, isKnownClient } from "./client.ts";
import { isMachine } from "./configured_client.ts";
import { printIssuer, type TrustedIssuer } from "./subject.ts";

/** A person's permission for a client. Times are epoch seconds. */
export interface Grant {
  id: string;
  /**
   * The base URL at which the grant was made. At any other, the grant is
   * invalid.
   */
  issuer: string;
  resource: string;
  /**
   * The person at this server, such as `github:583231`; see {@linkcode
   * import("./subject.ts").subjectOf}.
   */
  subject: string;
  identity: Identity;
  /** The ID of the person's provider; absent if no one signed in. */
  provider?: string;
  clientId: string;
  /**
   * `client`: a machine acts for itself, without a provider. `token`: a person
   * made an access token for their own program, named `clientName`.
   * `assertion`: an identity provider allowed the client for the person.
   * Absent: the person allowed the client on the consent page.
   */
  kind?: "client" | "token" | "assertion";
  /**
   * The identity provider that issued the assertion, for the kind `assertion`.
   */
  assertedBy?: string;
  /**
   * True if a personal token (kind `token`) may use the person's accounts at
   * other services.
   */
  mayUseAccounts?: true;
  /** The client's name when it was approved. */
  clientName: string;
  scopes: readonly string[];
  /** The scopes before the person revoked some; absent if they revoked none. */
  grantedScopes?: readonly string[];
  /** The HMAC key for the refresh tokens; absent if the grant has none. */
  refreshKey?: string;
  /** The valid refresh tokens; absent before the code is redeemed. */
  refreshTokens?: RefreshTokens;
  /**
   * The time of a pause. Tokens are refused until the person resumes the grant.
   */
  pausedAt?: number;
  /** The fingerprint of the search terms by which operators find the person. */
  listedAs?: string;
  /** The redirect URI that got the code; absent without a code. */
  redirectUri?: string;
  /**
   * The fingerprint of the signed-in browser's cookie; absent without a
   * browser.
   */
  browserFingerprint?: string;
  /**
   * `pending` before the code is redeemed, `closed` after the grant has ended.
   */
  status: "pending" | "active" | "closed";
  createdAt: number;
  /**
   * The time at which the provider last confirmed the identity. Absent until
   * the first confirmation after the sign-in.
   */
  confirmedAt?: number;
  /**
   * The time of the last token response, or of the grant's end if it was ended
   * later. For a personal access token
   * (`kind: "token"`) the time of its last use, rounded to the minute.
   */
  usedAt: number;
  /** The time at which the grant ends even if it is refreshed. */
  endsAt: number;
  /** The time at which the grant ends unless it is refreshed before. */
  expiresAt: number;
}

/**
 * Extends a grant after a token response, but not beyond `endsAt`. A grant
 * without refresh tokens lives as long as its access token.
 */
export function extendGrant(
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
 * Shortens a grant to the lifetimes in the present settings. It may then have
 * expired.
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
 * Returns when a grant's access token expires, by the present settings.
 *
 * @param token `issuedAt` is by default the time of the last token response
 */
export function tokenExpiry(
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

/**
 * Removes all scopes except `kept`. Only another sign-in can add scopes again.
 */
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
 * Closes a grant. Its record keeps the whole identity if `blocked` matches the
 * person; otherwise only the provider's subject.
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

/** True if a grant is active and belongs to this issuer and resource. */
export function isGrantOf(
  grant: Grant,
  { issuer, resource }: { issuer: string; resource: string },
): boolean {
  return grant.status === "active" && grant.issuer === issuer &&
    grant.resource === resource;
}

/** A person, as grants and account page sessions store them. */
export type KnownPerson = Pick<Grant, "subject" | "identity" | "provider">;

/**
 * Returns the `binding` to which a person's sessions, tasks and request states
 * belong: issuer, resource and subject. It does not contain the client, because
 * a client may register again when it needs more scopes.
 */
export function bindingOf(
  { issuer, resource, subject }: Pick<Grant, "issuer" | "resource" | "subject">,
): string {
  return JSON.stringify([issuer, resource, subject]);
}

/** Returns the binding of a person at the server with this base URL. */
export function bindingAt(baseUrl: string, subject: string): string {
  const resource = resourceOf(baseUrl);
  return bindingOf({ issuer: baseUrl, resource, subject });
}

/**
 * True for a grant that has one access token and ends with it. The client gets
 * the next grant without a person, so pausing or narrowing this one has no
 * effect.
 */
export function hasSingleToken({ kind }: Pick<Grant, "kind">): boolean {
  return kind === "client" || kind === "assertion";
}

/**
 * Returns the id under which a grant's calls are listed. All grants of a
 * machine share one id. All grants that one client got for one person by
 * assertions share one, too.
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

/**
 * Lists the parts of a known identity that are missing in the provider's
 * response.
 */
function unknownParts(
  { unknown = [] }: ProviderIdentity,
  known: Identity,
): readonly (Membership | "email")[] {
  return unknown.filter((part) =>
    part === "email" ? known.emailVerified : known[part]
  );
}

/**
 * Adds to a provider's response the parts that it lacks, from the known
 * identity. If the known identity is stale, only addresses are added, as
 * unverified ones.
 */
function completed(
  answer: ProviderIdentity,
  known: Identity,
  isStale: boolean,
): Identity {
  const identity = knownIdentity(answer);
  for (const part of answer.unknown ?? []) {
    if (part === "email" && known.email) {
      const { email, otherEmails, unverifiedEmails } = known;
      const emailVerified = known.emailVerified && !isStale;
      const all = { email, emailVerified, otherEmails, unverifiedEmails };
      Object.assign(identity, all);
    } else if (part !== "email" && !isStale) identity[part] = known[part];
  }
  return identity;
}

export type IdentityRecheck = ReturnType<typeof identityRecheck>;

/** Makes the rules from the settings about people. */
export function identityRecheck(
  { allowedUsers, blocked, admins, permissions }: {
    allowedUsers: readonly ListEntry[];
    /** `OAUTH_BLOCKED`. */
    blocked: readonly ListEntry[];
    /** `OAUTH_ADMINS`. */
    admins: readonly ListEntry[];
    permissions?: Permissions;
  },
) {
  const usesMemberships = (permissions?.memberships.size ?? 0) > 0;
  const usesAddresses = [...allowedUsers, ...blocked].some(isAddressEntry) ||
    permissions?.usesAddresses === true;
  const keepsAddresses = usesAddresses || admins.some(isAddressEntry);
  // If two people share an address, even an unverified one, they may not
  // approve each other's calls.
  const usesUnverified = permissions?.usesAddresses ||
    blocked.some(isAddressEntry);

  function isStale({ confirmedAt, createdAt }: Grant, now: number): boolean {
    return now >= (confirmedAt ?? createdAt) + IDENTITY_RECHECK_SECONDS;
  }

  /** Removes the memberships and further addresses that no rule uses. */
  function reduce(identity: Identity): Identity {
    const reduced = permissions?.reduce(identity) ??
      withoutMemberships(identity);
    if (!keepsAddresses) delete reduced.otherEmails;
    if (!usesUnverified) delete reduced.unverifiedEmails;
    return reduced;
  }

  return {
    /** True if this refresh must ask the provider about the person. */
    isDue: (grant: Grant, now: number): boolean =>
      usesMemberships || usesAddresses && isStale(grant, now),
    /**
     * Updates the identity in a grant with the provider's `answer`. Without an
     * answer, the identity remains for a day after the provider's last
     * confirmation. After that, its memberships are removed and its address is
     * unverified. The same applies to each part that is missing in an answer.
     */
    confirm(
      grant: Grant,
      answer: ProviderIdentity | undefined,
      now: number,
    ): Grant {
      const stale = isStale(grant, now);
      if (answer) {
        const identity = reduce(completed(answer, grant.identity, stale));
        const isWhole = unknownParts(answer, grant.identity).length === 0;
        return { ...grant, identity, ...isWhole && { confirmedAt: now } };
      }
      if (!stale) return grant;
      const known = withoutMemberships(grant.identity);
      if (known.emailVerified) known.emailVerified = false;
      return { ...grant, identity: known };
    },
    reduce,
  };
}

export interface EffectiveScopes {
  scopes: readonly string[];
  /** See {@linkcode import("../caller.ts").Caller.ceiling}. */
  ceiling?: readonly string[];
}

/**
 * Computes which of the given scopes are still effective; by default all scopes
 * of the grant. Undefined if the grant is no longer valid.
 */
export type FindEffectiveScopes = (
  grant: Grant,
  scopes?: readonly string[],
) => EffectiveScopes | undefined;

/** Makes the function that applies the present settings to a grant. */
export function effectiveScopesBy(
  rules: {
    baseUrl: string;
    providers: readonly { id: string }[];
    allowedUsers: readonly ListEntry[];
    /** `OAUTH_BLOCKED`: people and clients. */
    blocked: readonly ListEntry[];
    clients: readonly Client[];
    metadataDocuments: Parameters<typeof isKnownClient>[1]["metadataDocuments"];
    assertionIssuers: readonly TrustedIssuer[];
    permissions?: Permissions;
  },
): FindEffectiveScopes {
  const { baseUrl, clients, permissions } = rules;
  const here = { issuer: baseUrl, resource: resourceOf(baseUrl) };
  const asserters = new Set(rules.assertionIssuers.map(printIssuer));
  const machines = new Map(
    clients.filter(isMachine).map(({ clientId, metadata }) =>
      [clientId, parseScope(metadata.scope)] as const
    ),
  );

  /** True if the person's provider is still configured. */
  function isListed(grant: Grant): boolean {
    return rules.providers.some(({ id }) => id === grant.provider);
  }

  /**
   * True if the provider (or assertion issuer) and the client are still
   * configured.
   */
  function isVouchedFor(grant: Grant): boolean {
    switch (grant.kind) {
      case "assertion":
        return asserters.has(grant.assertedBy ?? "") &&
          isKnownClient(grant.clientId, rules);
      case "token":
        return isListed(grant);
      default:
        return isListed(grant) && isKnownClient(grant.clientId, rules);
    }
  }

  /**
   * Removes scopes outside a ceiling. Undefined if that removes the last scope
   * that allows a tool.
   */
  function within(
    grant: Grant,
    scopes: readonly string[],
    ceiling: readonly string[],
  ): EffectiveScopes | undefined {
    const isEmptied = !opensNoTool(grant.scopes) &&
      opensNoTool(scopesWithin(grant.scopes, ceiling));
    return isEmptied
      ? undefined
      : { scopes: scopesWithin(scopes, ceiling), ceiling };
  }

  return (grant, scopes = grant.scopes) => {
    if (!isGrantOf(grant, here)) return undefined;
    if (isBlocked(grant, rules.blocked)) return undefined;
    // An access token issued before the person revoked scopes still names
    // them.
    if (scopes !== grant.scopes) scopes = scopesWithin(scopes, grant.scopes);
    if (grant.kind === "client") {
      const allowed = machines.get(grant.clientId);
      const effective = allowed && within(grant, scopes, allowed);
      if (!effective || !permissions) {
        return effective && { scopes: effective.scopes };
      }
      // The operator set the scopes of the machine, so they are its ceiling.
      return { ...effective, ceiling: scopesWithin(grant.scopes, allowed) };
    }
    if (!isVouchedFor(grant) || !isAllowed(grant, rules.allowedUsers)) {
      return undefined;
    }
    return permissions
      ? within(grant, scopes, permissions.ceiling(grant))
      : { scopes };
  };
}
