/**
 * Who a request is for.
 *
 * @module
 */

/** A person as the provider knows them; every field is the provider's word. */
export interface Identity {
  /** The provider's stable name for the person (OpenID `sub`). */
  subject: string;
  /** The full name. */
  name?: string;
  /** The e-mail address; see `emailVerified`. */
  email?: string;
  /** Whether the provider says that it checked `email`. */
  emailVerified?: boolean;
  /** The account's short name, where a provider has one. */
  login?: string;
  /** The URL of a picture. */
  picture?: string;
  /** Groups, as the provider writes them. */
  groups?: readonly string[];
  /** Roles, as the provider writes them. */
  roles?: readonly string[];
  /** Organizations: names, and where there is one `id:` with the number. */
  organizations?: readonly string[];
  /** Teams: `organization/team`, and `id:` with the number. */
  teams?: readonly string[];
}

/** The lists of an {@linkcode Identity} that say what a person belongs to. */
export const MEMBERSHIPS = [
  "groups",
  "roles",
  "organizations",
  "teams",
] as const;

/** One of {@linkcode MEMBERSHIPS}. */
export type Membership = typeof MEMBERSHIPS[number];

/**
 * How a caller came to be known: a strategy of `AUTH_STRATEGY`, or under `oauth`
 * an access token that a person made themselves.
 */
export type Door = "oauth" | "token" | "jwt" | "bearer" | "api_key";

/** Who a request is for, and what they allowed the client to do. */
export interface Caller {
  /** `anonymous`, `operator` for static credentials, or a stable subject. */
  subject: string;
  /** How the caller is known; absent when they presented nothing. */
  door?: Door;
  /** The OAuth client that is calling, under strategies that know one. */
  clientId?: string;
  /** Granted scopes; `all` where the strategy knows no scopes. */
  scopes: readonly string[] | "all";
  /**
   * The most that may ever be granted to the person; undefined: every scope.
   * What needs others does not exist for the caller.
   */
  ceiling?: readonly string[];
  /** The person, where a provider told. */
  identity?: Identity;
  /**
   * What sessions, tasks and request states are bound to: the person, under
   * OAuth as issuer, resource and subject, so that nothing is lost by stepping
   * up, signing in again or registering anew.
   */
  binding: string;
  /** The grant under OAuth. What it used last ends with it. */
  grantId?: string;
}

/** The caller of a server that asks no one who they are. */
export const ANONYMOUS: Caller = Object.freeze({
  subject: "anonymous",
  scopes: "all",
  binding: "anonymous",
});

/**
 * The caller without credentials where `AUTH_ANONYMOUS` lets them in. A session
 * of theirs is its holder's as soon as they have signed in; all else they began
 * stays theirs.
 */
export const STRANGER: Caller = Object.freeze({
  subject: "anonymous",
  scopes: [],
  binding: "stranger",
});

/** Whether a caller could sign in to be known, and has not. */
export function isStranger({ binding }: Pick<Caller, "binding">): boolean {
  return binding === STRANGER.binding;
}

/** What tells what a caller's sessions, tasks and request states are bound to. */
export type Bound = Pick<Caller, "door" | "clientId" | "binding" | "grantId">;

/**
 * What version 0.1 bound the same to: the grant, or of a JWT its issuer and
 * subject together with the client. Where it did as today, undefined.
 */
export function formerBinding(
  { door, clientId, binding, grantId }: Bound,
): string | undefined {
  switch (door) {
    case "oauth":
      return grantId;
    case "jwt":
      // One more member of the same JSON array.
      return `${binding.slice(0, -1)},${JSON.stringify(clientId ?? null)}]`;
  }
}

/**
 * Whether what is bound otherwise is a caller's all the same: they were a
 * stranger when it began, or it is from version 0.1.
 */
export function mayAdopt(
  caller: Bound,
  bound: Pick<Caller, "binding">,
): boolean {
  return isStranger(bound) || bound.binding === formerBinding(caller);
}

/** The scopes of `needed` that the caller was not granted. */
export function missingScopes(
  caller: Caller,
  needed: readonly string[],
): string[] {
  const { scopes } = caller;
  if (scopes === "all") return [];
  return needed.filter((scope) => !scopes.includes(scope));
}

/**
 * The provider's API, as the caller. The token never leaves the server except
 * towards the provider.
 */
export interface Upstream {
  /**
   * A provider access token that is valid now, refreshed once however many
   * ask at the same time.
   *
   * @throws {import("./errors.ts").ChallengeError} when the provider's grant is dead
   * @throws {import("./errors.ts").HttpError} 503 when the provider does not answer
   */
  token(): Promise<string>;
  /**
   * `fetch` with that token as the bearer. A path is resolved against the
   * provider's API; a URL of anyone else's is refused.
   */
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
}

/** What the gate found out about a request. */
export interface Authenticated {
  /** Who the request is for. */
  caller: Caller;
  /** Absent when the caller did not sign in at a provider. */
  upstream?: Upstream;
  /**
   * Whether what the caller was allowed still holds, at most a second stale;
   * absent where it cannot be revoked.
   *
   * @param grantId another grant of theirs, which may allow the same
   * @throws {import("./errors.ts").StorageError} when that cannot be looked up
   */
  isLive?(grantId?: string): Promise<boolean>;
}
