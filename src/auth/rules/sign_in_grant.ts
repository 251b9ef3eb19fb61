/**
 * The grant of a person who has signed in, by the operator's rules of today.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";
import { OAuthError, type OAuthErrorCode } from "../../errors.ts";
import { isAllowed, isBlocked } from "./allowed_users.ts";
import type { ListEntry } from "./list_entry.ts";
import type { AuthorizationRequest } from "./authorization_request.ts";
import type { Confirmation } from "./confirmation.ts";
import type { Grant } from "./grant.ts";
import type { Lifetimes } from "./lifetimes.ts";
import { openGrant } from "./new_grant.ts";
import type { Permissions } from "./permissions.ts";
import { cutScopes, opensNothing } from "./scope.ts";
import { isSubjectOfOther, subjectOf } from "./subject.ts";

/** The rules about people who sign in at the provider. */
interface SignInRules {
  /** The prefixes of all subjects. */
  subjectIds: readonly string[];
  /** People who may sign in; empty: everyone. */
  allowedUsers: readonly ListEntry[];
  /** People and clients who may not. */
  blocked: readonly ListEntry[];
  permissions?: Permissions;
  lifetimes: Lifetimes;
  confirmation: Pick<Confirmation, "reduce">;
}

/** Makes the refusal of people and clients that the operator has blocked. */
export function refusedByBlock(
  code: OAuthErrorCode = "access_denied",
): OAuthError {
  return new OAuthError(
    code,
    "The people who run this server have blocked this account or this app",
    { situation: "blocked" },
  );
}

/**
 * Makes the grant of a person, with what they approved and may grant.
 *
 * @throws {OAuthError} `access_denied`
 */
export function grantOfSignIn(
  identity: Identity,
  { providerId, request, clientName, consented = request.scopes }: {
    /** The prefix of the subjects of the person's provider. */
    providerId: string;
    request: AuthorizationRequest;
    clientName: string;
    consented?: readonly string[];
  },
  {
    subjectIds,
    allowedUsers,
    blocked,
    permissions,
    lifetimes,
    confirmation,
  }: SignInRules,
  { issuer, now }: { issuer: string; now: number },
): Grant {
  const subject = subjectOf(providerId, identity);
  const { clientId } = request;
  if (isBlocked({ subject, identity, clientId }, blocked)) {
    throw refusedByBlock();
  }
  // A rule about another issuer's person must not match one of this.
  const others = subjectIds.filter((id) => id !== providerId);
  const isTakenForOther = isSubjectOfOther(identity.subject, others);
  if (isTakenForOther || !isAllowed({ subject, identity }, allowedUsers)) {
    throw new OAuthError("access_denied", "This account may not sign in here");
  }
  const kept = confirmation.reduce(identity);
  const ceiling = permissions?.ceiling({ subject, identity: kept });
  const scopes = cutScopes(consented, ceiling);
  if (opensNothing(scopes) && !opensNothing(consented)) {
    throw new OAuthError(
      "access_denied",
      "This account may not have what the app asked for here: " +
        "ask the people who run this server",
    );
  }
  return openGrant(request, {
    issuer,
    provider: providerId,
    identity: kept,
    clientName,
    scopes,
    lifetimes,
    now,
  });
}
