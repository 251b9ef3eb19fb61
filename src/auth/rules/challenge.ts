/**
 * `WWW-Authenticate`, and the bearer token that answers it.
 *
 * @see RFC 6750 §2.1 and §3, RFC 9728 §5.1
 * @module
 */
import type { ChallengeError } from "../../errors.ts";
import { unionOfScopes } from "./scope.ts";

const BEARER = /^Bearer +(\S+) *$/i;

/** Reads the token of an `Authorization` header; undefined if there is none. */
export function parseBearer(authorization: string | null): string | undefined {
  return authorization === null ? undefined : BEARER.exec(authorization)?.[1];
}

/**
 * Prints a challenge.
 *
 * @param parameters parameters of the strategy, such as `resource_metadata`;
 * undefined ones are left out
 * @param scopes the scopes that every sign-in asks for: a 401 names them
 * besides its own
 */
export function printChallenge(
  refusal: ChallengeError,
  parameters: Readonly<Record<string, string | undefined>> = {},
  scopes: readonly string[] = [],
): string {
  const needed = refusal.status === 401
    ? unionOfScopes(refusal.scopes, scopes)
    : refusal.scopes;
  const all = {
    error: refusal.error,
    error_description: refusal.error && refusal.description,
    ...parameters,
    scope: needed.length > 0 ? needed.join(" ") : undefined,
  };
  const printed = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${quotable(value!)}"`);
  return printed.length > 0 ? `Bearer ${printed.join(", ")}` : "Bearer";
}

/** Replaces characters that these values may not hold (RFC 6750 §3). */
function quotable(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x5B\x5D-\x7E]/g, "?");
}
