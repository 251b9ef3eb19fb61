/**
 * What is left of a grant: people leave the list of who may sign in, or lose
 * what they were allowed, while their grants live on.
 *
 * @module
 */
import type { Permissions } from "./permissions.ts";
import { isAllowed } from "./allowed_users.ts";
import { type Grant, isGrantOf } from "./grant.ts";
import { printIssuer, type TrustedIssuer } from "./identity_assertion.ts";
import { cutScopes, opensNothing } from "./scope.ts";

/** What a token of a grant is good for. */
export interface Held {
  scopes: readonly string[];
  /** See {@linkcode import("../caller.ts").Caller.ceiling}. */
  ceiling?: readonly string[];
}

/**
 * What is left of scopes of a grant, its own by default; undefined when the
 * grant is good for nothing here any more.
 */
export type MayHold = (
  grant: Grant,
  scopes?: readonly string[],
) => Held | undefined;

/** Judges grants by the rules of today. */
export function heldScopes(
  { issuer, resource, allowedUsers, machines, assertionIssuers, permissions }: {
    issuer: string;
    resource: string;
    allowedUsers: readonly string[];
    /** Clients that act for themselves. */
    machines: ReadonlySet<string>;
    /** Identity providers whose word counts. */
    assertionIssuers: readonly TrustedIssuer[];
    permissions?: Permissions;
  },
): MayHold {
  const asserters = new Set(assertionIssuers.map(printIssuer));
  return (grant, scopes = grant.scopes) => {
    const { identity, assertedBy } = grant;
    if (!isGrantOf(grant, { issuer, resource })) return undefined;
    // A token from before the person took scopes away names those too.
    if (scopes !== grant.scopes) scopes = cutScopes(scopes, grant.scopes);
    if (grant.kind === "client") {
      if (!machines.has(grant.clientId)) return undefined;
      // The operator chose their scopes, so there is nothing beyond.
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
