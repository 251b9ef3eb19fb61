/**
 * Scopes: requested, granted, and needed by a call.
 *
 * @see RFC 6749 §3.3
 * @module
 */
import { SCOPE_TOKEN, type Scopes } from "../../authoring/scope.ts";
import { OAuthError } from "../errors.ts";
import { seenText } from "../log/log_line.ts";

/** The scope that asks for refresh tokens, which every client gets anyway. */
export const OFFLINE_ACCESS = "offline_access";

/**
 * Parses a `scope` parameter, each scope once.
 *
 * @throws {OAuthError} `invalid_scope` on a character that none may have
 */
export function parseScope(text: string | undefined): string[] {
  const scopes = new Set<string>();
  for (const scope of text?.split(" ") ?? []) {
    if (scope === "") continue;
    if (!SCOPE_TOKEN.test(scope)) {
      throw new OAuthError(
        "invalid_scope",
        "scope must be visible ASCII without quotes and backslashes",
      );
    }
    scopes.add(scope);
  }
  return [...scopes];
}

/** Prints scopes as the wire has them. */
export function printScope(scopes: readonly string[]): string {
  return scopes.join(" ");
}

/**
 * The scopes that clients request from any server. No resource here needs them,
 * and a request for only these is no mistake.
 *
 * @see OpenID Connect Core §5.4 and §11
 */
const GENERIC = ["openid", "profile", "email", "address", "phone"];

/**
 * Computes the scopes that an authorization request may get. A request without
 * `scope` gets the `usual` ones, and any other no more than it names (RFC 6749
 * §3.3): with `offline_access` alone, its token opens only what needs no scope.
 * Unknown scopes are left out. If none is known, the request is refused,
 * because its token would open nothing.
 *
 * @throws {OAuthError} `invalid_scope` when none of them is known
 */
export function grantableScopes(
  requested: readonly string[],
  { supported, usual }: Pick<Scopes, "supported" | "usual">,
): string[] {
  const known = requested.filter((scope) => supported.includes(scope));
  const specific = requested.filter((scope) =>
    scope !== OFFLINE_ACCESS && !GENERIC.includes(scope)
  );
  // A server whose tools need no scopes accepts any.
  if (known.length === 0 && specific.length > 0 && supported.length > 0) {
    throw new OAuthError(
      "invalid_scope",
      `scope must name at least one of: ${printScope(supported)}`,
      { situation: "unknown scopes" },
    );
  }
  return [
    ...requested.length > 0 ? known : usual,
    ...requested.filter((scope) => scope === OFFLINE_ACCESS),
  ];
}

/**
 * Keeps the scopes that are in a ceiling; `offline_access` has no effect and
 * always stays. Without a ceiling, returns the same list.
 */
export function scopesWithin(
  scopes: readonly string[],
  ceiling: readonly string[] | undefined,
): readonly string[] {
  if (ceiling === undefined) return scopes;
  return scopes.filter((scope) =>
    scope === OFFLINE_ACCESS || ceiling.includes(scope)
  );
}

export function opensNothing(scopes: readonly string[]): boolean {
  return scopes.every((scope) => scope === OFFLINE_ACCESS);
}

/** Joins two lists of scopes, each scope once. */
export function unionOfScopes(
  a: readonly string[],
  b: readonly string[],
): string[] {
  return [...new Set([...a, ...b])];
}

/**
 * Computes the scopes of an access token: those that were granted, or fewer.
 *
 * @throws {OAuthError} `invalid_scope` when a requested scope was not granted
 * (RFC 6749 §6)
 */
export function narrowScopes(
  requested: readonly string[],
  granted: readonly string[],
): readonly string[] {
  if (requested.length === 0) return granted;
  const beyond = requested.filter((scope) => !granted.includes(scope));
  if (beyond.length > 0) {
    throw new OAuthError(
      "invalid_scope",
      "scope must not go beyond what was granted: " +
        seenText(printScope(beyond)),
    );
  }
  return requested;
}
