/**
 * Scopes: requested, granted, and needed by a call.
 *
 * @see RFC 6749 §3.3
 * @module
 */
import { SCOPE_TOKEN, type Scopes } from "../../authoring/scope.ts";
import { OAuthError } from "../errors.ts";
import { seenText } from "../log/log_line.ts";

/** The scope for refresh tokens, which every client gets without it, too. */
export const OFFLINE_ACCESS = "offline_access";

/**
 * Parses a `scope` parameter into scopes without duplicates.
 *
 * @throws {OAuthError} `invalid_scope` on a character that no scope may have
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

/** Formats scopes as a `scope` parameter. */
export function printScope(scopes: readonly string[]): string {
  return scopes.join(" ");
}

/**
 * Scopes that clients request from any server. No tool here needs them, and a
 * request for only these is not an error.
 *
 * @see OpenID Connect Core §5.4 and §11
 */
const GENERIC = ["openid", "profile", "email", "address", "phone"];

/**
 * Computes the scopes that an authorization request may get. A request without
 * `scope` gets the `usual` ones, any other no more than it names (RFC 6749
 * §3.3): `offline_access` alone gets a token for whatever needs no scope.
 * Unknown scopes are dropped. A request for unknown scopes only is refused,
 * because its token would be of no use.
 *
 * @throws {OAuthError} `invalid_scope` if no requested scope is known
 */
export function grantableScopes(
  requested: readonly string[],
  { supported, usual }: Pick<Scopes, "supported" | "usual">,
): string[] {
  const known = requested.filter((scope) => supported.includes(scope));
  const specific = requested.filter((scope) =>
    scope !== OFFLINE_ACCESS && !GENERIC.includes(scope)
  );
  // A server whose tools need no scopes accepts unknown ones.
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
 * Returns the scopes that are in a ceiling. `offline_access` grants nothing
 * here and always stays. Without a ceiling, returns the same list.
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
 * Returns the scopes of an access token: the requested ones, by default all
 * that were granted.
 *
 * @throws {OAuthError} `invalid_scope` if a requested scope was not granted
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
