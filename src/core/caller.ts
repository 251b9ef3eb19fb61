/**
 * The caller: the person or program that a request is for.
 *
 * @module
 */

import type { ServiceTokens } from "./token_exchange.ts";

/** A person's identity, as the provider reports it. */
export interface Identity {
  /** The provider's stable name for the person (OpenID `sub`). */
  subject: string;
  /** The full name. */
  name?: string;
  /** The e-mail address; see `emailVerified`. */
  email?: string;
  /** True if the provider says that it checked `email`. */
  emailVerified?: boolean;
  /**
   * Further e-mail addresses that the provider has verified, if it reports any.
   */
  otherEmails?: readonly string[];
  /**
   * Further e-mail addresses that are not verified, or only by a provider that
   * may not verify their domains. Absent unless `OAUTH_BLOCKED` or
   * `OAUTH_PERMISSIONS` names addresses.
   */
  unverifiedEmails?: readonly string[];
  /** The account's short name, if the provider has one. */
  login?: string;
  /** The URL of a picture. */
  picture?: string;
  /** Groups, as the provider writes them. */
  groups?: readonly string[];
  /** Roles, as the provider writes them. */
  roles?: readonly string[];
  /**
   * Organizations: each by its name, and as `id:` and its number if it has one.
   */
  organizations?: readonly string[];
  /** Teams: each as `organization/team`, and as `id:` and its number. */
  teams?: readonly string[];
}

/** The lists of an {@linkcode Identity} that hold memberships. */
export const MEMBERSHIPS = [
  "groups",
  "roles",
  "organizations",
  "teams",
] as const;

/** One of {@linkcode MEMBERSHIPS}. */
export type Membership = typeof MEMBERSHIPS[number];

/**
 * The person or program that a request is for, and the scopes they gave the
 * client.
 */
export interface Caller {
  /** `anonymous`, `operator` for static credentials, or a stable subject. */
  subject: string;
  /**
   * The way the caller authenticated: the strategy of `AUTH_STRATEGY`; or,
   * under `oauth`, `token` for a personal token made on the account page.
   * Absent without credentials.
   */
  door?: "oauth" | "token" | "jwt" | "bearer" | "api_key";
  /** The OAuth client that is calling, if the strategy has clients. */
  clientId?: string;
  /** Granted scopes; `all` if the strategy has no scopes. */
  scopes: readonly string[] | "all";
  /**
   * The scopes that may ever be granted to the person; undefined if all may.
   * Tools, resources and prompts that need another scope are hidden from the
   * caller.
   */
  ceiling?: readonly string[];
  /** The person, if a provider identified them. */
  identity?: Identity;
  /**
   * The id of the provider that the person signed in at, such as `github`.
   * Names in `identity` are unique within one provider only.
   */
  provider?: string;
  /**
   * The name that sessions, tasks and request states belong to. Under OAuth it
   * is made of issuer, resource and subject. So nothing is lost when the client
   * asks for more scopes, signs in again or registers again.
   */
  binding: string;
  /**
   * True if a personal access token may use the accounts that its person has
   * connected. After a sign-in this is not needed.
   */
  mayUseAccounts?: true;
  /**
   * The grant under OAuth. Sessions and tasks that were last used with it end
   * with it.
   */
  grantId?: string;
  /** A fingerprint of a JWT that names no client. */
  tokenId?: string;
}

/** The caller of a server without authentication. */
export const ANONYMOUS: Caller = Object.freeze({
  subject: "anonymous",
  scopes: "all",
  binding: "anonymous",
});

/**
 * The caller without credentials, if `AUTH_ANONYMOUS` admits them. Their
 * session remains theirs after a sign-in; everything else that they began does
 * not.
 */
export const STRANGER: Caller = Object.freeze({
  subject: "anonymous",
  scopes: [],
  binding: "stranger",
});

/** True if a caller could sign in, but has not. */
export function isStranger({ binding }: Pick<Caller, "binding">): boolean {
  return binding === STRANGER.binding;
}

/**
 * Returns the name of a caller's app. Under it is stored what a person allowed
 * that app alone. A JWT that names no client is an app by itself.
 */
export function appOf(
  { clientId, grantId, tokenId }: Caller,
): string | undefined {
  return clientId ?? grantId ?? tokenId;
}

/**
 * False only for a personal access token without access to the person's
 * accounts at other services.
 */
export function mayUseAccounts({ door, mayUseAccounts }: Caller): boolean {
  return door !== "token" || mayUseAccounts === true;
}

/** Lists the needed scopes that the caller was not granted. */
export function missingScopes(
  caller: Caller,
  needed: readonly string[],
): string[] {
  const { scopes } = caller;
  if (scopes === "all") return [];
  return needed.filter((scope) => !scopes.includes(scope));
}

/** A request to a service, and a bound on its answer. */
export interface BoundedRequest extends RequestInit {
  /**
   * The maximum size of the response in bytes, decoded: 10 MiB by default.
   * Reading more throws an error; so does a minute in which no byte comes.
   */
  maxBytes?: number;
}

/**
 * The provider's API, called with the caller's token. The token is sent to the
 * provider only.
 */
export interface Upstream {
  /**
   * Returns an access token of the provider that is valid now. Calls at the
   * same time share one refresh.
   *
   * @throws {import("./errors.ts").ChallengeError} when the provider's grant is dead
   * @throws {import("./errors.ts").HttpError} 503 when the provider does not answer
   */
  token(): Promise<string>;
  /**
   * Calls `fetch` with the provider's access token as the bearer. A path is
   * resolved against the provider's API; a URL that is not the provider's is
   * refused. Reading the body throws a {@linkcode
   * import("../authoring/tool.ts").ToolError} after `maxBytes`, or when no more
   * bytes arrive.
   */
  fetch(input: string | URL, init?: BoundedRequest): Promise<Response>;
}

/** The result of authenticating a request. */
export interface Authenticated {
  /** The person or program that the request is for. */
  caller: Caller;
  /** The provider's API; absent if the caller did not sign in at a provider. */
  upstream?: Upstream;
  /**
   * Exchanges the provider's token for tokens of other services. Absent if
   * `upstream` is.
   */
  exchange?: ServiceTokens;
  /**
   * Resolves to true if the caller's permission still holds, or did a second
   * ago; to `paused` if it would hold, but the person has paused it. Absent if
   * the permission cannot be revoked.
   * @param grantId another grant of the caller, which may permit the same
   * @throws {import("./errors.ts").StorageError} when the database cannot be
   * read
   */
  isLive?(grantId?: string): Promise<boolean | "paused">;
  /**
   * Resolves to true if the credential of the request is still accepted, or was
   * a second ago. Absent if the credential never expires. Only subscriptions
   * end when it is no longer accepted; a call continues.
   * @throws {import("./errors.ts").StorageError} when the database cannot be
   * read, but not once the credential has expired
   */
  isAccepted?(): Promise<boolean>;
}
