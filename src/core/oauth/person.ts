/**
 * People as operators see and search for them, and memberships as settings
 * write them.
 *
 * @module
 */
import { type Identity, type Membership, MEMBERSHIPS } from "../caller.ts";

/** A person, for rules and pages. */
export interface Person {
  /**
   * The subject at this server, with the provider as prefix: `github:583231`.
   */
  subject: string;
  /** The provider's claims about the person. */
  identity: Identity;
}

/** An identity from one response of a provider, which may be incomplete. */
export interface ProviderIdentity extends Identity {
  /**
   * The parts that the response lacks. They are unknown, not removed. `email`
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

/** Drops `unknown`, the names of parts that the provider did not report. */
export function knownIdentity(
  { unknown: _, ...identity }: ProviderIdentity,
): Identity {
  return identity;
}

/** The maximum number of characters of a search term. */
const MAX_TERM_CHARACTERS = 60;
const NAME_WORDS = 8;

/** Returns a name to show for a person: the provider's, or the subject. */
export function personName({ identity, subject }: Person): string {
  return identity.login ?? identity.name ?? identity.email ?? subject;
}

/**
 * Normalizes a text for a search: removes case, accents and invisible
 * characters.
 */
export function foldText(text: string): string {
  return text.normalize("NFKD").replaceAll(/[\p{M}\p{C}]/gu, "")
    .replaceAll(/\s+/g, " ").trim().toLowerCase()
    .slice(0, MAX_TERM_CHARACTERS).toWellFormed();
}

/** Returns the text by which lists sort a person. */
export function personSortKey(person: Person): string {
  return foldText(personName(person));
}

/**
 * Lists the search terms of a person: the subject with and without issuer and
 * scheme, the name and each of its words, the login, the e-mail address and its
 * domain. Terms are found by their beginning.
 */
export function personTerms({ identity, subject }: Person): string[] {
  const { login = "", name = "", email = "" } = identity;
  const words = name.split(/[\s,.]+/).slice(0, NAME_WORDS);
  const domain = email.split("@")[1] ?? "";
  const place = subject.replace(/^https?:\/\//, "");
  const texts = [subject, place, identity.subject, login, name, email, domain];
  const terms = new Set([...texts, ...words].map(foldText));
  // A term that begins another term is found through that one.
  return [...terms].filter((term) =>
    term !== "" &&
    ![...terms].some((other) => other !== term && other.startsWith(term))
  );
}

export function searchWords(search: string): string[] {
  return foldText(search).split(" ").filter((word) => word !== "");
}

/**
 * True if each searched word begins a term of the person, or a word in a term.
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
 * Parses `role:editor`, `org:acme` and so on. Without a prefix, it is a group.
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
 * Normalizes a membership's name for comparison. Organizations and teams become
 * lower case, because GitHub ignores their case.
 */
export function membershipName(kind: Membership, name: string): string {
  return kind === "organizations" || kind === "teams"
    ? name.toLowerCase()
    : name;
}

export function membershipPrefix(kind: Membership): string {
  return Object.keys(MEMBERSHIP_OF).find((it) => MEMBERSHIP_OF[it] === kind)!;
}

export function withoutMemberships(identity: Identity): Identity {
  const rest = { ...identity };
  for (const kind of MEMBERSHIPS) delete rest[kind];
  return rest;
}
