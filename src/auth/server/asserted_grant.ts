/**
 * A grant by the assertion of an identity provider, without any page.
 *
 * @see MCP extension io.modelcontextprotocol/enterprise-managed-authorization
 * @module
 */
import type { Scopes } from "../../authoring/scope.ts";
import { type Clock, now } from "../../clock.ts";
import { OAuthError } from "../../errors.ts";
import { type Client, clientName } from "../rules/client.ts";
import { type Grant, openAssertedGrant } from "../rules/grant.ts";
import type { MayHold } from "../rules/held_scopes.ts";
import {
  badAssertion,
  checkIdentityAssertion,
  JWT_BEARER_GRANT_TYPE,
  printIssuer,
} from "../rules/identity_assertion.ts";
import { type Permissions, withoutMemberships } from "../rules/permissions.ts";
import { resourceOf } from "../rules/resource.ts";
import {
  cutScopes,
  grantableScopes,
  OFFLINE_ACCESS,
  opensNothing,
} from "../rules/scope.ts";
import { isSubjectOfOther, issuerId, subjectOf } from "../rules/subject.ts";
import type { AssertionStore } from "../../store/assertions.ts";
import type { Write } from "../../store/transaction.ts";
import type { VerifyAssertion } from "../provider/assertion_issuers.ts";

/**
 * A grant, and the write that marks its assertion as used in the same commit.
 */
export interface AssertedGrant {
  grant: Grant;
  using: Write;
  /** The same if the request that used it was answered with 503. */
  usingAgain(): Promise<Write | undefined>;
}

/** Makes the grant of an assertion, once. @throws {OAuthError} */
export type GrantByAssertion = (
  request: { assertion: string; scopes: readonly string[] },
  client: Client,
  /** True if the client has authenticated. */
  isProven: boolean,
) => Promise<AssertedGrant>;

/**
 * Makes grants for scopes that the identity provider and the rules of this
 * server both allow.
 */
export function grantByAssertion(
  {
    baseUrl,
    providerId,
    otherIds,
    scopes: known,
    permissions,
    mayHold,
    verifyAssertion,
    assertions,
    clock,
  }: {
    baseUrl: string;
    /** The prefix of the subjects of people who sign in on a page. */
    providerId: string;
    /** The prefixes of other issuers' subjects. */
    otherIds: readonly string[];
    scopes: Scopes;
    permissions?: Permissions;
    /** Tells what the grant may be used for here. */
    mayHold: MayHold;
    verifyAssertion: VerifyAssertion;
    assertions: AssertionStore;
    clock: Clock;
  },
): GrantByAssertion {
  return async function grant({ assertion, scopes: asked }, client, isProven) {
    const { clientId, metadata } = client;
    if (!isProven || !metadata.grant_types.includes(JWT_BEARER_GRANT_TYPE)) {
      throw new OAuthError(
        "unauthorized_client",
        `${JWT_BEARER_GRANT_TYPE} is for clients that prove who they are and ` +
          "list it in grant_types",
      );
    }
    const { by, claims, identity } = await verifyAssertion(assertion);
    const { scopes: allowed, ...once } = checkIdentityAssertion(claims, {
      tenant: by.tenant,
      clientId,
      baseUrl,
      now: now(clock),
    });
    const wanted = grantableScopes(
      asked.length > 0 ? asked : allowed ?? [],
      known,
    ).filter((scope) => scope !== OFFLINE_ACCESS);
    const id = issuerId(by);
    const subject = subjectOf(id, identity);
    // A rule with a subject alone means a person of the sign-in provider.
    const isNamedAlone = id === providerId &&
      !isSubjectOfOther(identity.subject, otherIds);
    const kept = permissions?.keep(identity) ?? withoutMemberships(identity);
    const grant = openAssertedGrant({
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
    if (!mayHold({ ...grant, scopes: [] })) {
      throw badAssertion("This account may not sign in here");
    }
    const held = mayHold(grant, cutScopes(wanted, allowed));
    if (!held || opensNothing(held.scopes) && !opensNothing(wanted)) {
      throw new OAuthError(
        "invalid_scope",
        "None of the requested scopes may be granted to this account",
      );
    }
    const issuer = `assertion of ${printIssuer(by)}`;
    return {
      grant: { ...grant, scopes: held.scopes },
      using: assertions.using(issuer, once),
      usingAgain: () => assertions.usingAgain(issuer, once),
    };
  };
}
