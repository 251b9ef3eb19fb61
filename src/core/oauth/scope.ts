/**
 * Scopes: parses them, and computes which ones are granted.
 *
 * @see RFC 6749 §3.3
 * @module
 */
import { SCOPE_TOKEN, type Scopes } from "../../authoring/scope.ts";
import { OAuthError } from "../errors.ts";
import { seenText } from "../log/log_line.ts";

/** The scope for refresh tokens. Clients get these without it, too. */
export const OFFLINE_ACCESS = "offline_access";

/**
 * Parses a `scope` parameter into scopes without duplicates.
 *
 * @throws {OAuthError} `invalid_scope` for a character that is not allowed
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

export function printScope(scopes: readonly string[]): string {
  return scopes.join(" ");
}

/**
 * Scopes that clients request from any server. No tool needs them. A request
 * for only these is not an error.
 *
 * @see OpenID Connect Core §5.4 and §11
 */
const GENERIC = ["openid", "profile", "email", "address", "phone"];

/**
 * Computes the scopes that an authorization request may get. Without `scope`,
 * it gets the `usual` ones; otherwise only those that it names (RFC 6749 §3.3).
 * With only `offline_access`, it gets a token without scopes. Unknown scopes
 * are dropped. If all are unknown, the request is refused, because its token
 * would be useless.
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
 * Removes scopes outside of a ceiling; without a ceiling, none.
 * `offline_access` always stays, because it allows no tool.
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

export function opensNoTool(scopes: readonly string[]): boolean {
  return scopes.every((scope) => scope === OFFLINE_ACCESS);
}

export function unionOfScopes(
  a: readonly string[],
  b: readonly string[],
): string[] {
  return [...new Set([...a, ...b])];
}

/**
 * Returns the scopes of an access token: the requested ones, or by default all
 * granted ones.
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
