/**
 * People as operators see them: their names, the words by which a search finds
 * them, and their memberships as settings write them.
 *
 * @module
 */
import { type Identity, type Membership, MEMBERSHIPS } from "../caller.ts";

/** A person, as rules and pages know them. */
export interface Person {
  /** The stable subject here, with the provider's name: `github:583231`. */
  subject: string;
  /** The provider's claims about them. */
  identity: Identity;
}

/** An identity from one answer of a provider, which may be incomplete. */
export interface ProviderIdentity extends Identity {
  /**
   * The parts that the answer lacks: they are unknown, not removed. `email`
   * means all addresses.
   */
  unknown?: readonly (
    | "groups"
    | "roles"
    | "organizations"
    | "teams"
    | "email"
  )[];
}

/** Removes `unknown` from an identity: the missing parts stay absent. */
export function knownIdentity(
  { unknown: _, ...identity }: ProviderIdentity,
): Identity {
  return identity;
}

/** Lists the parts of a known identity that are missing in an answer. */
export function unknownParts(
  { unknown = [] }: ProviderIdentity,
  known: Identity,
): readonly (Membership | "email")[] {
  return unknown.filter((part) =>
    part === "email" ? known.emailVerified : known[part]
  );
}

/** Completes an answer: fills in its missing parts from the known identity. */
export function completed(answer: ProviderIdentity, known: Identity): Identity {
  const identity = knownIdentity(answer);
  for (const part of unknownParts(answer, known)) {
    if (part === "email") {
      const { email, emailVerified, otherEmails } = known;
      Object.assign(identity, { email, emailVerified });
      if (otherEmails) identity.otherEmails = otherEmails;
    } else identity[part] = known[part];
  }
  return identity;
}

/** The most characters of a text that are compared. */
const MAX_TERM_CHARACTERS = 60;
const NAME_WORDS = 8;

/** Returns a person's name: as the provider shows it, else their subject. */
export function personName({ identity, subject }: Person): string {
  return identity.login ?? identity.name ?? identity.email ?? subject;
}

/** Folds a text for a search: without case, accents, invisible characters. */
export function folded(text: string): string {
  return text.normalize("NFKD").replaceAll(/[\p{M}\p{C}]/gu, "")
    .replaceAll(/\s+/g, " ").trim().toLowerCase()
    .slice(0, MAX_TERM_CHARACTERS).toWellFormed();
}

/** Returns the text by which a person is sorted in a list. */
export function personSortKey(person: Person): string {
  return folded(personName(person));
}

/**
 * Lists the folded texts by which a search finds a person, if one begins with
 * the word searched for: their subject with and without its issuer and its
 * scheme, their name and its words, their short name, their e-mail address and
 * its domain.
 */
export function personTerms({ identity, subject }: Person): string[] {
  const { login = "", name = "", email = "" } = identity;
  const words = name.split(/[\s,.]+/).slice(0, NAME_WORDS);
  const domain = email.split("@")[1] ?? "";
  const place = subject.replace(/^https?:\/\//, "");
  const texts = [subject, place, identity.subject, login, name, email, domain];
  const terms = new Set([...texts, ...words].map(folded));
  // A term that is the beginning of another is found by the other.
  return [...terms].filter((term) =>
    term !== "" &&
    ![...terms].some((other) => other !== term && other.startsWith(term))
  );
}

export function searchWords(search: string): string[] {
  return folded(search).split(" ").filter((word) => word !== "");
}

/** True if each search word begins a term of the person, or a word in one. */
export function isFoundBy(person: Person, words: readonly string[]): boolean {
  const terms = personTerms(person).flatMap((
    term,
  ) => [term, ...term.split(" ")]);
  return words.every((word) => terms.some((term) => term.startsWith(word)));
}

const MEMBERSHIP_OF: Readonly<Record<string, Membership>> = {
  group: "groups",
  role: "roles",
  org: "organizations",
  team: "teams",
};

/** Parses `role:editor`, `org:acme`, …; without a prefix it is a group. */
export function parseMembership(
  text: string,
): { kind: Membership; name: string; isPrefixed: boolean } {
  const [, prefix, name] = /^(\w+):(.+)/s.exec(text) ?? [];
  return Object.hasOwn(MEMBERSHIP_OF, prefix)
    ? { kind: MEMBERSHIP_OF[prefix], name: name.trim(), isPrefixed: true }
    : { kind: "groups", name: text, isPrefixed: false };
}

/** Lowercases organizations and teams: GitHub ignores their case. */
export function membershipName(kind: Membership, name: string): string {
  return kind === "organizations" || kind === "teams"
    ? name.toLowerCase()
    : name;
}

/** Returns the prefix of a kind of membership, without its colon. */
export function prefixOf(kind: Membership): string {
  return Object.keys(MEMBERSHIP_OF).find((it) => MEMBERSHIP_OF[it] === kind)!;
}

export function withoutMemberships(identity: Identity): Identity {
  const rest = { ...identity };
  for (const kind of MEMBERSHIPS) delete rest[kind];
  return rest;
}
