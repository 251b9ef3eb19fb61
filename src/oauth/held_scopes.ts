/**
 * The scopes that a grant still holds: while it lives, its person may lose the
 * right to sign in, or permissions.
 *
 * @module
 */
import type { Permissions } from "./permissions.ts";
import { isAllowed } from "./allowed_users.ts";
import { type Grant, isGrantOf } from "./grant.ts";
import { printIssuer, type TrustedIssuer } from "./identity_assertion.ts";
import { cutScopes, opensNothing } from "./scope.ts";

/** The scopes that a token of a grant holds. */
export interface Held {
  scopes: readonly string[];
  /** See {@linkcode import("../caller.ts").Caller.ceiling}. */
  ceiling?: readonly string[];
}

/**
 * Finds which scopes of a grant still hold, by default all of its own;
 * undefined if the grant is no longer valid here.
 */
export type MayHold = (
  grant: Grant,
  scopes?: readonly string[],
) => Held | undefined;

/** Judges grants by the current rules. */
export function heldScopes(
  { issuer, resource, allowedUsers, machines, assertionIssuers, permissions }: {
    issuer: string;
    resource: string;
    allowedUsers: readonly string[];
    /** Clients that act for themselves. */
    machines: ReadonlySet<string>;
    /** Identity providers that are trusted. */
    assertionIssuers: readonly TrustedIssuer[];
    permissions?: Permissions;
  },
): MayHold {
  const asserters = new Set(assertionIssuers.map(printIssuer));
  return (grant, scopes = grant.scopes) => {
    const { identity, assertedBy } = grant;
    if (!isGrantOf(grant, { issuer, resource })) return undefined;
    // A token from before the person took scopes away still names those.
    if (scopes !== grant.scopes) scopes = cutScopes(scopes, grant.scopes);
    if (grant.kind === "client") {
      if (!machines.has(grant.clientId)) return undefined;
      // The operator chose its scopes, so the ceiling is the same.
      return { scopes, ...permissions && { ceiling: grant.scopes } };
    }
    if (assertedBy !== undefined && !asserters.has(assertedBy)) {
      return undefined;
    }
    if (!isAllowed(identity, allowedUsers)) return undefined;
    if (!permissions) return { scopes };
    const ceiling = permissions.ceiling(grant);
    const isEmptied = !opensNothing(grant.scopes) &&
      opensNothing(cutScopes(grant.scopes, ceiling));
    if (isEmptied) return undefined;
    return { scopes: cutScopes(scopes, ceiling), ceiling };
  };
}
