/**
 * Scopes: what a client asks for, what it gets, and what a call needs.
 *
 * @see RFC 6749 §3.3
 * @module
 */
import type { Scopes } from "../authoring/scope.ts";
import { OAuthError } from "../errors.ts";

/** Asks for refresh tokens; every client gets them, so it is only words. */
export const OFFLINE_ACCESS = "offline_access";

/** RFC 6749 appendix A.4: visible ASCII without quote and backslash. */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/**
 * The scopes of a `scope` parameter, each once.
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

/** Scopes as the wire has them. */
export function printScope(scopes: readonly string[]): string {
  return scopes.join(" ");
}

/**
 * What clients ask for everywhere, whatever the server. They name nothing that
 * a resource here has, so a request for only these is one for no scope.
 *
 * @see OpenID Connect Core §5.4 and §11
 */
const GENERIC = ["openid", "profile", "email", "address", "phone"];

/**
 * What an authorization request for scopes comes down to. Asking for none asks
 * for those that every sign-in asks for. Scopes that it does not know are left out (RFC
 * 6749 §3.3 lets us), as long as that leaves something: no one is handed a
 * token that opens nothing without being told.
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
  // A server whose tools need no scopes refuses no one for naming some.
  if (known.length === 0 && specific.length > 0 && supported.length > 0) {
    throw new OAuthError(
      "invalid_scope",
      `scope must name at least one of: ${printScope(supported)}`,
    );
  }
  return [
    ...known.length > 0 ? known : usual,
    ...requested.filter((scope) => scope === OFFLINE_ACCESS),
  ];
}

/**
 * What is left of scopes below a ceiling; `offline_access` is only words and
 * always stays. Without a ceiling the same list.
 */
export function cutScopes(
  scopes: readonly string[],
  ceiling: readonly string[] | undefined,
): readonly string[] {
  if (ceiling === undefined) return scopes;
  return scopes.filter((scope) =>
    scope === OFFLINE_ACCESS || ceiling.includes(scope)
  );
}

/** Whether a list of scopes opens nothing. */
export function opensNothing(scopes: readonly string[]): boolean {
  return scopes.every((scope) => scope === OFFLINE_ACCESS);
}

/** Two lists of scopes as one, each scope once. */
export function unionOfScopes(
  a: readonly string[],
  b: readonly string[],
): string[] {
  return [...new Set([...a, ...b])];
}

/**
 * The scopes of a refreshed access token: those of the grant, or fewer.
 *
 * @throws {OAuthError} `invalid_scope` when it asks for more (RFC 6749 §6)
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
      `scope must not go beyond what was granted: ${printScope(beyond)}`,
    );
  }
  return requested;
}
