/**
 * The effective scopes of a grant: those that the present settings still allow.
 * The operator may have changed the provider, removed the client or blocked the
 * person.
 *
 * @module
 */
import type { Permissions } from "./permissions.ts";
import { isAllowed, isBlocked } from "./allowed_users.ts";
import { type Grant, isGrantOf } from "./grant.ts";
import type { Client } from "./client.ts";
import { isKnownClient } from "./client_id.ts";
import { isMachine } from "./configured_client.ts";
import { resourceOf } from "./resource.ts";
import type { ListEntry } from "./list_entry.ts";
import { printIssuer } from "./subject.ts";
import type { TrustedIssuer } from "./subject.ts";
import { opensNoTool, parseScope, scopesWithin } from "./scope.ts";

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
   * Removes scopes outside a ceiling. Undefined if no scope of the grant
   * remains.
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
