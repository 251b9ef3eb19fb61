/**
 * Checks people and clients against the operator's lists: who may sign in
 * (`OAUTH_ALLOWED_USERS`) and who may not (`OAUTH_BLOCKED`).
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import { OAuthError, type OAuthErrorCode } from "../errors.ts";
import { shortClientId } from "./client.ts";
import { type ListEntry, lowerAscii } from "./list_entry.ts";
import { membershipName, type Person } from "./person.ts";
import { subjectOf } from "./subject.ts";

/** True if `OAUTH_ALLOWED_USERS` lists a person, or is empty. */
export function isAllowed(
  person: Person,
  allowed: readonly ListEntry[],
): boolean {
  return allowed.length === 0 ||
    allowed.some((entry) => matchesPerson(entry, person));
}

/**
 * True if `OAUTH_BLOCKED` lists a person or their client. An unverified e-mail
 * address matches, too.
 */
export function isBlocked(
  { clientId, subject, identity }: Person & { clientId: string },
  blocked: readonly ListEntry[],
): boolean {
  const person = { subject, identity: asVerified(identity) };
  return blocked.some((entry) =>
    matchesPerson(entry, person) || isAboutClient(entry, clientId)
  );
}

export const BLOCKED_TEXT =
  "The people who run this server have blocked this account or this app";

export function refusedByBlock(
  code: OAuthErrorCode = "access_denied",
): OAuthError {
  return new OAuthError(code, BLOCKED_TEXT, { situation: "blocked" });
}

/** True for an entry with an e-mail address or a domain. */
export function isAddressEntry({ kind }: ListEntry): boolean {
  return kind === "address" || kind === "domain";
}

/**
 * True if an entry matches a person. Only verified e-mail addresses match. The
 * case of A to Z is ignored. A domain does not include its subdomains.
 */
export function matchesPerson(
  entry: ListEntry,
  { subject, identity }: Person,
): boolean {
  switch (entry.kind) {
    case "everyone":
      return true;
    case "subject":
      return entry.subject === subject;
    case "address":
      return verifiedAddresses(identity).includes(entry.address);
    case "domain":
      // An address with a second @ matches no domain: mail software
      // disagrees about it.
      return verifiedAddresses(identity).some((address) =>
        address.match(/^[^@]+(@[^@]+)$/)?.[1] === entry.domain
      );
    case "client":
      return false;
    default: {
      const { kind, name: wanted, provider } = entry;
      const isTheirs = provider === undefined ||
        subject === subjectOf(provider, identity);
      return isTheirs &&
        identity[kind]?.some((name) =>
            membershipName(kind, name) === wanted
          ) ===
          true;
    }
  }
}

export function isAboutClient(entry: ListEntry, clientId: string): boolean {
  return entry.kind === "client" && clientId !== "" &&
    entry.clientId === shortClientId(clientId);
}

/** Returns a copy of an identity in which every e-mail address is verified. */
export function asVerified(identity: Identity): Identity {
  const { otherEmails = [], unverifiedEmails = [] } = identity;
  const all = [...otherEmails, ...unverifiedEmails];
  return { ...identity, emailVerified: true, otherEmails: all };
}

/** Lists the addresses that the provider has verified, in lower case. */
export function verifiedAddresses(
  { email, emailVerified, otherEmails = [] }: Identity,
): string[] {
  if (emailVerified !== true) return [];
  return [...email === undefined ? [] : [email], ...otherEmails]
    .map(lowerAscii);
}
