/**
 * Makes new grants: after a sign-in, for a machine, for an assertion, and for a
 * personal access token.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import type { AuthorizationRequest } from "./authorization_request.ts";
import { newGrantId, newPersonalGrantId } from "./credential.ts";
import type { Grant, IdentityRecheck } from "./grant.ts";
import { CODE_TTL_SECONDS, type Lifetimes } from "./lifetimes.ts";
import { isSubjectOfOther, machineSubject, subjectOf } from "./subject.ts";
import { OAuthError } from "../errors.ts";
import { isAllowed, isBlocked, refusedByBlock } from "./allowed_users.ts";
import type { ListEntry } from "./list_entry.ts";
import type { Permissions } from "./permissions.ts";
import { opensNoTool, scopesWithin } from "./scope.ts";

/**
 * Makes the grant for an approved authorization request. Its code is not
 * redeemed yet.
 */
export function openGrant(
  { clientId, redirectUri, resource, scopes }: AuthorizationRequest,
  { lifetimes, now, ...granted }:
    & Pick<Grant, "issuer" | "identity" | "clientName">
    & {
      /** The id of the person's provider. */
      provider: string;
      /**
       * The approved scopes that the person may be granted; all requested ones
       * by default.
       */
      scopes?: readonly string[];
      lifetimes: Lifetimes;
      now: number;
    },
): Grant {
  return {
    id: newGrantId(),
    resource,
    clientId,
    redirectUri,
    scopes,
    subject: subjectOf(granted.provider, granted.identity),
    ...granted,
    status: "pending",
    createdAt: now,
    usedAt: now,
    endsAt: now + lifetimes.grantSeconds,
    expiresAt: now + CODE_TTL_SECONDS,
  };
}

type Granted = Omit<
  Grant,
  "id" | "status" | "createdAt" | "usedAt" | "endsAt" | "expiresAt"
>;

/** Makes a grant that has a single access token and ends with it. */
export function openGrantFor(
  seconds: number,
  { id = newGrantId(), now, ...granted }: Granted & {
    id?: string;
    now: number;
  },
): Grant {
  return {
    id,
    ...granted,
    status: "active",
    createdAt: now,
    usedAt: now,
    endsAt: now + seconds,
    expiresAt: now + seconds,
  };
}

/**
 * Makes the grant of a machine. No person can have its subject (RFC 9700
 * §4.15).
 */
export function makeMachineGrant(
  client:
    & Pick<Grant, "clientId" | "clientName" | "scopes" | "issuer" | "resource">
    & { now: number },
  { accessTokenSeconds }: Pick<Lifetimes, "accessTokenSeconds">,
): Grant {
  const { clientId, clientName } = client;
  return openGrantFor(accessTokenSeconds, {
    ...client,
    kind: "client",
    subject: machineSubject(clientId),
    identity: { subject: clientId, name: clientName },
  });
}

export function openPersonalGrant(
  { name, seconds, ...person }:
    & Pick<
      Grant,
      | "issuer"
      | "resource"
      | "subject"
      | "identity"
      | "provider"
      | "scopes"
      | "mayUseAccounts"
    >
    & { name: string; seconds: number; now: number },
): Grant {
  return openGrantFor(seconds, {
    ...person,
    id: newPersonalGrantId(),
    clientId: "",
    kind: "token",
    clientName: name,
  });
}

interface SignInRules {
  /** The prefixes of all subjects. */
  subjectIds: readonly string[];
  /** `OAUTH_ALLOWED_USERS`; if empty, everyone may sign in. */
  allowedUsers: readonly ListEntry[];
  /** `OAUTH_BLOCKED`. */
  blocked: readonly ListEntry[];
  permissions?: Permissions;
  lifetimes: Lifetimes;
  identityRecheck: Pick<IdentityRecheck, "reduce">;
}

/**
 * Makes the grant after a sign-in. It has the approved scopes that the rules
 * allow.
 */
export function grantOfSignIn(
  identity: Identity,
  { providerId, request, clientName, consented }: {
    /** The prefix of the provider's subjects. */
    providerId: string;
    request: AuthorizationRequest;
    clientName: string;
    consented: readonly string[];
  },
  rules: SignInRules,
  { issuer, now }: { issuer: string; now: number },
): Grant {
  const subject = subjectOf(providerId, identity);
  const { clientId } = request;
  if (isBlocked({ subject, identity, clientId }, rules.blocked)) {
    throw refusedByBlock();
  }
  // A rule for a person of another issuer must not match this one.
  const { subjectIds, allowedUsers } = rules;
  const isWelcome = isAllowed({ subject, identity }, allowedUsers) &&
    !isSubjectOfOther(identity.subject, subjectIds, providerId);
  if (!isWelcome) {
    throw new OAuthError("access_denied", "This account may not sign in here");
  }
  const kept = rules.identityRecheck.reduce(identity);
  const ceiling = rules.permissions?.ceiling({ subject, identity: kept });
  const scopes = scopesWithin(consented, ceiling);
  if (opensNoTool(scopes) && !opensNoTool(consented)) {
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
    lifetimes: rules.lifetimes,
    now,
  });
}
