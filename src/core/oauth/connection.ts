/**
 * A connection: everything that one person has allowed one client. It has a
 * grant for each sign-in.
 *
 * @module
 */
import { type Grant, withinLifetimes } from "./grant.ts";
import type { Lifetimes } from "./lifetimes.ts";
import { redirectKind, withoutLoopbackPort } from "./redirect_uri.ts";
import { unionOfScopes } from "./scope.ts";

/** The person and the client that identify a connection. */
export type ConnectionOf = Pick<Grant, "subject" | "clientId">;

/**
 * The maximum number of active grants of a connection. A client usually has one
 * for each machine that it runs on.
 */
export const MAX_SIGN_INS = 100;

/** True if a grant belongs to a connection. */
export function isSignInOf(
  { subject, clientId }: ConnectionOf,
  grant: Grant,
): boolean {
  return grant.kind === undefined && grant.subject === subject &&
    grant.clientId === clientId;
}

/**
 * Finds the grants to end so that there is room for another one: the least
 * recently used first, those with an unredeemed code last.
 */
export function leastUsedGrants<T extends { value: Grant }>(
  open: readonly T[],
): T[] {
  const isWaiting = ({ value }: T) => Number(value.status === "pending");
  return open.toSorted((a, b) =>
    isWaiting(a) - isWaiting(b) || a.value.usedAt - b.value.usedAt
  )
    .slice(0, Math.max(0, open.length + 1 - MAX_SIGN_INS));
}

/**
 * Lists the scopes that a connection's grants have at a redirect URI. The port
 * of a loopback address is ignored.
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
 * Computes the scopes of a new sign-in of a connection. At an https redirect
 * URI, the client keeps the scopes that it already has there. At others, any
 * program may receive the code, so only scopes that the consent page showed are
 * granted.
 */
export function scopesOfSignIn(
  { approved, offered, named, redirectUri }: {
    /** The scopes that the person approved. */
    approved: readonly string[];
    /** The scopes that the consent page showed. */
    offered: readonly string[];
    /** The scopes that the client named in its request. */
    named: readonly string[];
    redirectUri: string;
  },
  { had, revokedScopes, isOlder }: {
    /** The scopes that the client already has at this redirect URI. */
    had: readonly string[];
    revokedScopes: readonly string[];
    /**
     * True if the consent page was shown before the person revoked
     * `revokedScopes`.
     */
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
