/**
 * Scopes: what a client asks for, what it gets, and what a call needs.
 *
 * @see RFC 6749 §3.3
 * @module
 */
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
      throw new OAuthError("invalid_scope", "A scope has invalid characters");
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
 * What a request for scopes comes down to. Asking for nothing asks for all
 * the server has; scopes that the server does not know are left out (RFC 6749
 * §3.3 lets us, and clients ask for `openid` or their own name everywhere).
 */
export function grantableScopes(
  requested: readonly string[],
  supported: readonly string[],
): string[] {
  if (requested.length === 0) return [...supported];
  return requested.filter((scope) =>
    scope === OFFLINE_ACCESS || supported.includes(scope)
  );
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
  supported: readonly string[],
): readonly string[] {
  if (requested.length === 0) return granted;
  const narrowed = grantableScopes(requested, supported);
  if (!narrowed.every((scope) => granted.includes(scope))) {
    throw new OAuthError(
      "invalid_scope",
      "The grant does not cover the scopes asked for",
    );
  }
  return narrowed;
}
