/**
 * The granted scopes of a caller, compared with the scopes that are needed.
 *
 * @module
 */
import { type Caller, isStranger, missingScopes } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";

/**
 * Makes the challenge for scopes that a caller was not granted: 403 that lists
 * all needed scopes, or 401 for a stranger. Undefined when nothing is missing.
 */
export function scopeChallenge(
  caller: Caller,
  needed: readonly string[],
): ChallengeError | undefined {
  if (missingScopes(caller, needed).length === 0) return undefined;
  return isStranger(caller)
    ? new ChallengeError("Sign in to use this", undefined, needed)
    : new ChallengeError(
      "The request needs scopes that were not granted",
      "insufficient_scope",
      needed,
    );
}

/** @throws {ChallengeError} as {@linkcode scopeChallenge} */
export function checkGranted(
  caller: Caller,
  needed: readonly string[],
): void {
  const challenge = scopeChallenge(caller, needed);
  if (challenge) throw challenge;
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
