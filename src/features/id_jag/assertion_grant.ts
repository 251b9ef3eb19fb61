/**
 * The JWT bearer grant: issues an access token for an identity provider's
 * assertion (ID-JAG), without any page.
 *
 * @see RFC 7523; MCP extension
 * io.modelcontextprotocol/enterprise-managed-authorization
 * @module
 */
import { now } from "../../core/clock.ts";
import { OAuthError } from "../../core/errors.ts";
import {
  type Client,
  clientName,
  JWT_BEARER_GRANT_TYPE,
} from "../../core/oauth/client.ts";
import type { Grant } from "../../core/oauth/grant.ts";
import { openGrantFor } from "../../core/oauth/new_grant.ts";
import { checkIdentityAssertion } from "./identity_assertion.ts";
import { invalidGrant, type Parameters } from "../../core/oauth/parameters.ts";
import { resourceOf } from "../../core/oauth/resource.ts";
import {
  grantableScopes,
  OFFLINE_ACCESS,
  opensNoTool,
  parseScope,
  scopesWithin,
} from "../../core/oauth/scope.ts";
import {
  isSubjectOfOther,
  issuerId,
  printIssuer,
  subjectOf,
  type TrustedIssuer,
} from "../../core/oauth/subject.ts";
import type { IssuedTokens } from "../../core/oauth/refresh_token.ts";
import type { Write } from "../../core/kv/database.ts";
import { assertionVerifier } from "./assertion_issuers.ts";
import { usualMembershipClaims } from "../../core/provider/identity.ts";
import type { ProviderApplication } from "../../core/settings/application.ts";
import type { OAuthConfig } from "../../core/settings/oauth.ts";
import type { AuthServices } from "../../core/auth/services.ts";

/**
 * Finds our OAuth client at the sign-in provider with this issuer's ID; if
 * there is only one provider, at that one.
 */
function applicationOf(
  { providers }: OAuthConfig,
  by: TrustedIssuer,
): Pick<ProviderApplication, "groupsClaim"> {
  const [only, ...others] = providers;
  const found = others.length === 0
    ? only
    : providers.find(({ id }) => id === issuerId(by));
  return found && found.config.provider !== "dev" ? found.config : {};
}

/**
 * Makes the function that redeems assertions, for scopes that both the identity
 * provider and this server's rules allow. There is no refresh token: the client
 * requests another assertion.
 */
export function assertionGrant(services: AuthServices) {
  const { baseUrl, providers, subjectIds, scopes: known, lifetimes } = services;
  const { config, identityRecheck, effectiveScopes, clock } = services;
  const { assertions, accessTokens, grants } = services;
  const verifyAssertion = assertionVerifier(config.assertionIssuers, {
    memberships: (by) => usualMembershipClaims(applicationOf(config, by)),
    clock,
  });
  return async function redeem(
    parameters: Parameters,
    client: Client,
    isProven: boolean,
  ): Promise<{ tokens: IssuedTokens; grant: Grant }> {
    const assertion = parameters.require("assertion");
    const asked = parseScope(parameters.get("scope"));

    // Checks that the client has authenticated, and is registered for the
    // grant.
    const { clientId, metadata } = client;
    if (!isProven || !metadata.grant_types.includes(JWT_BEARER_GRANT_TYPE)) {
      throw new OAuthError(
        "unauthorized_client",
        `${JWT_BEARER_GRANT_TYPE} is for clients that prove who they are and ` +
          "list it in grant_types",
      );
    }

    // Checks the assertion's signature, then its claims.
    const { by, claims, identity: asserted } = await verifyAssertion(assertion);
    const { scopes: allowed, ...once } = checkIdentityAssertion(claims, {
      tenant: by.tenant,
      clientId,
      baseUrl,
      now: now(clock),
    });

    // Finds the person, and the requested scopes.
    const wanted = grantableScopes(
      asked.length > 0 ? asked : allowed ?? [],
      known,
    ).filter((scope) => scope !== OFFLINE_ACCESS);
    const id = issuerId(by);
    const identity = providers.vouched(id, asserted);
    const subject = subjectOf(id, identity);
    // A rule with a bare subject means a person of a sign-in provider. For a
    // person of another issuer, the identity gets the whole subject, so that no
    // such rule matches.
    const isNamedAlone = providers.all.some((it) => it.id === id) &&
      !isSubjectOfOther(identity.subject, subjectIds, id);
    const kept = identityRecheck.reduce(identity);
    const requested = openGrantFor(lifetimes.accessTokenSeconds, {
      kind: "assertion",
      issuer: baseUrl,
      resource: resourceOf(baseUrl),
      subject,
      identity: isNamedAlone ? kept : { ...kept, subject },
      clientId,
      clientName: clientName(client),
      scopes: wanted,
      assertedBy: printIssuer(by),
      now: now(clock),
    });

    // Applies the operator's rules, and the scopes that the assertion allows.
    const isOut = !effectiveScopes({ ...requested, scopes: [] }) ||
      await grants.isKnownBlocked(subject);
    if (isOut) throw invalidGrant("This account may not sign in here");
    const effective = effectiveScopes(requested, scopesWithin(wanted, allowed));
    if (!effective || opensNoTool(effective.scopes) && !opensNoTool(wanted)) {
      throw new OAuthError(
        "invalid_scope",
        "None of the requested scopes may be granted to this account",
      );
    }
    const grant = { ...requested, scopes: effective.scopes };

    // The token is issued last, because an assertion works once: the same
    // commit marks it as used. After a 503 it may be used again.
    const used = { issuer: `assertion of ${printIssuer(by)}`, ...once };
    let using: Write | undefined = assertions.using(used);
    while (using) {
      const tokens = await accessTokens.issue(grant, using);
      if (tokens) return { tokens, grant };
      using = await assertions.usingAgain(used);
    }
    throw invalidGrant("The assertion was used before");
  };
}
