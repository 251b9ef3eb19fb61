/**
 * People as operators see them: their names, the words by which a search finds
 * them, and their memberships as settings write them.
 *
 * @module
 */
import { type Identity, type Membership, MEMBERSHIPS } from "../caller.ts";

/** A person, as rules and pages see them. */
export interface Person {
  /**
   * The stable subject at this server, with the provider's prefix:
   * `github:583231`.
   */
  subject: string;
  /** The provider's claims about the person. */
  identity: Identity;
}

/** An identity from one response of a provider, which may lack parts. */
export interface ProviderIdentity extends Identity {
  /**
   * The parts that the response lacks: they are unknown, not removed. `email`
   * is for all addresses.
   */
  unknown?: readonly (
    | "groups"
    | "roles"
    | "organizations"
    | "teams"
    | "email"
  )[];
}

/** Returns an identity without `unknown`: the missing parts stay absent. */
export function knownIdentity(
  { unknown: _, ...identity }: ProviderIdentity,
): Identity {
  return identity;
}

/** The maximum number of characters of a search term. */
const MAX_TERM_CHARACTERS = 60;
const NAME_WORDS = 8;

/**
 * Returns the name by which a page shows a person: a name from the provider,
 * else the subject.
 */
export function personName({ identity, subject }: Person): string {
  return identity.login ?? identity.name ?? identity.email ?? subject;
}

/**
 * Folds a text for a search: removes case, accents and invisible characters.
 */
export function foldText(text: string): string {
  return text.normalize("NFKD").replaceAll(/[\p{M}\p{C}]/gu, "")
    .replaceAll(/\s+/g, " ").trim().toLowerCase()
    .slice(0, MAX_TERM_CHARACTERS).toWellFormed();
}

/** Returns the text by which a person is sorted in a list. */
export function personSortKey(person: Person): string {
  return foldText(personName(person));
}

/**
 * Lists the folded terms of a person; a search finds the person if a term
 * begins with the search word. Terms are the subject with and without its
 * issuer and scheme, the name and each word of it, the login, the e-mail
 * address and its domain.
 */
export function personTerms({ identity, subject }: Person): string[] {
  const { login = "", name = "", email = "" } = identity;
  const words = name.split(/[\s,.]+/).slice(0, NAME_WORDS);
  const domain = email.split("@")[1] ?? "";
  const place = subject.replace(/^https?:\/\//, "");
  const texts = [subject, place, identity.subject, login, name, email, domain];
  const terms = new Set([...texts, ...words].map(foldText));
  // A term that is the beginning of another is found by the other.
  return [...terms].filter((term) =>
    term !== "" &&
    ![...terms].some((other) => other !== term && other.startsWith(term))
  );
}

export function searchWords(search: string): string[] {
  return foldText(search).split(" ").filter((word) => word !== "");
}

/**
 * True if each search word is the beginning of a term of the person, or of a
 * word in a term.
 */
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

/**
 * Parses `role:editor`, `org:acme`, …; without a prefix the name is a group's.
 */
export function parseMembership(
  text: string,
): { kind: Membership; name: string; isPrefixed: boolean } {
  const [, prefix, name] = /^(\w+):(.+)/s.exec(text) ?? [];
  return Object.hasOwn(MEMBERSHIP_OF, prefix)
    ? { kind: MEMBERSHIP_OF[prefix], name: name.trim(), isPrefixed: true }
    : { kind: "groups", name: text, isPrefixed: false };
}

/**
 * Returns the name to compare: in lower case for organizations and teams, whose
 * case GitHub ignores.
 */
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
