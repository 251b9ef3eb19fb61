/**
 * What a caller was granted against what something needs.
 *
 * @module
 */
import { type Caller, missingScopes } from "../caller.ts";
import { ChallengeError } from "../errors.ts";

/**
 * Checks that a caller was granted scopes.
 *
 * @throws {ChallengeError} 403 that lists every one of them
 */
export function checkGranted(
  caller: Caller,
  needed: readonly string[],
): void {
  if (missingScopes(caller, needed).length === 0) return;
  throw new ChallengeError(
    "The request needs scopes that were not granted",
    "insufficient_scope",
    needed,
  );
}

/** Whether a caller could be granted scopes; what needs others is not there. */
export function isWithinReach(
  { ceiling }: Caller,
  needed: readonly string[],
): boolean {
  return ceiling === undefined ||
    needed.every((scope) => ceiling.includes(scope));
}
