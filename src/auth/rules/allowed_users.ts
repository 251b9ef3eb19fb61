/**
 * The lists of people who may sign in, and of people and clients who may not.
 *
 * @module
 */
import { isAbout, isAboutClient, type ListEntry } from "./list_entry.ts";

type Person = Parameters<typeof isAbout>[1];

/**
 * Returns true if `OAUTH_ALLOWED_USERS` lets a person in. An empty list lets
 * everyone in.
 */
export function isAllowed(
  person: Person,
  allowed: readonly ListEntry[],
): boolean {
  return allowed.length === 0 ||
    allowed.some((entry) => isAbout(entry, person));
}

/**
 * Returns true if `OAUTH_BLOCKED` names a person, or their client. An address
 * that no one has verified, or no longer, is blocked like any other.
 */
export function isBlocked(
  { clientId, subject, identity }: Person & { clientId: string },
  blocked: readonly ListEntry[],
): boolean {
  const person = { subject, identity: { ...identity, emailVerified: true } };
  return blocked.some((entry) =>
    isAbout(entry, person) || isAboutClient(entry, clientId)
  );
}
