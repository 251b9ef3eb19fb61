/**
 * A connection: everything that one person allowed one client, over all its
 * sign-ins. Each sign-in has a grant of its own.
 *
 * @module
 */
import { type Grant, withinLifetimes } from "./grant.ts";
import type { Lifetimes } from "./lifetimes.ts";
import { redirectKind, withoutLoopbackPort } from "./redirect_uri.ts";
import { unionOfScopes } from "./scope.ts";

/** The person and the client of a connection. */
export type ConnectionOf = Pick<Grant, "subject" | "clientId">;

/**
 * The maximum number of live grants of one connection. A client has one grant
 * for each machine on which it is used.
 */
export const MAX_SIGN_INS = 100;

/** Returns true if a grant is one of the sign-ins of a connection. */
export function isSignInOf(
  { subject, clientId }: ConnectionOf,
  grant: Grant,
): boolean {
  return grant.kind === undefined && grant.subject === subject &&
    grant.clientId === clientId;
}

/**
 * Finds the grants that must end to make room for another sign-in: first the
 * least recently used, then those whose code is not redeemed yet.
 */
export function leastUsed<T extends { value: Grant }>(open: readonly T[]): T[] {
  const isWaiting = ({ value }: T) => Number(value.status === "pending");
  return open.toSorted((a, b) =>
    isWaiting(a) - isWaiting(b) || a.value.usedAt - b.value.usedAt
  )
    .slice(0, Math.max(0, open.length + 1 - MAX_SIGN_INS));
}

/**
 * Lists the scopes that a connection has at a redirect URI, whatever its
 * loopback port.
 */
export function scopesAt(
  open: readonly { value: Grant }[],
  { redirectUri, lifetimes, now }: {
    redirectUri: string;
    lifetimes: Lifetimes;
    now: number;
  },
): string[] {
  const alive = open.map(({ value }) => value).filter((grant) =>
    grant.status === "active" && grant.redirectUri !== undefined &&
    withoutLoopbackPort(grant.redirectUri) ===
      withoutLoopbackPort(redirectUri) &&
    withinLifetimes(grant, lifetimes).expiresAt > now
  );
  return alive.reduce<string[]>(
    (all, { scopes }) => unionOfScopes(all, scopes),
    [],
  );
}

/**
 * Computes the scopes of a sign-in to a connection.
 *
 * The scopes that the client already has at an https redirect URI are added. At
 * other redirect URIs any program may receive the code, so only scopes that the
 * page showed are granted.
 */
export function scopesOfSignIn(
  { approved, offered, named, redirectUri }: {
    /** The scopes that the person left ticked. */
    approved: readonly string[];
    /** The scopes that the consent page showed. */
    offered: readonly string[];
    /** The scopes that the client named in its request. */
    named: readonly string[];
    redirectUri: string;
  },
  { had, revokedScopes, isOlder }: {
    /** The scopes that the client has at this redirect URI. */
    had: readonly string[];
    revokedScopes: readonly string[];
    /** True if the page was shown before the person revoked `revokedScopes`. */
    isOlder: boolean;
  },
): string[] {
  const kept = approved.filter((scope) =>
    !revokedScopes.includes(scope) || !isOlder && named.includes(scope)
  );
  if (redirectKind(redirectUri) !== "https") return kept;
  const added = had.filter((scope) =>
    !offered.includes(scope) && !revokedScopes.includes(scope)
  );
  return unionOfScopes(kept, added);
}
