/**
 * The granted scopes of a caller, compared with the scopes that are needed.
 *
 * @module
 */
import { type Caller, isStranger, missingScopes } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";

/**
 * Checks that a caller was granted scopes.
 *
 * @throws {ChallengeError} 403 that lists all needed scopes, 401 for a stranger
 */
export function checkGranted(
  caller: Caller,
  needed: readonly string[],
): void {
  if (missingScopes(caller, needed).length === 0) return;
  throw isStranger(caller)
    ? new ChallengeError("Sign in to use this", undefined, needed)
    : new ChallengeError(
      "The request needs scopes that were not granted",
      "insufficient_scope",
      needed,
    );
}

/**
 * True if the caller could be granted all of the scopes; things that need
 * others do not exist for them.
 */
export function isWithinReach(
  { ceiling }: Caller,
  needed: readonly string[],
): boolean {
  return ceiling === undefined ||
    needed.every((scope) => ceiling.includes(scope));
}
