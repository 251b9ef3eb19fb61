/**
 * People in the eyes of an operator: what they are called, and by which words
 * they are found.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";

/** A person, as rules and pages know them. */
export interface Person {
  /** The stable subject here, with the provider's name: `github:583231`. */
  subject: string;
  /** The provider's claims about them. */
  identity: Identity;
}

/** Of each text so much is compared. */
const TERM_CHARACTERS = 60;
const NAME_WORDS = 8;

/** The name of a person: what the provider shows of them, else their subject. */
export function nameOf({ identity, subject }: Person): string {
  return identity.login ?? identity.name ?? identity.email ?? subject;
}

/** Folds a text for a search: no case, accents, or unseen characters. */
export function folded(text: string): string {
  return text.normalize("NFKD").replaceAll(/[\p{M}\p{C}]/gu, "")
    .replaceAll(/\s+/g, " ").trim().toLowerCase()
    .slice(0, TERM_CHARACTERS).toWellFormed();
}

/** The place of a person in a list of names. */
export function listingOf(person: Person): string {
  return folded(nameOf(person));
}

/**
 * Everything by whose beginning a person is found, folded: their subject with
 * and without its issuer and its scheme, their name and its words, their short name, their
 * e-mail address and its domain.
 */
export function personTerms({ identity, subject }: Person): string[] {
  const { login = "", name = "", email = "" } = identity;
  const words = name.split(/[\s,.]+/).slice(0, NAME_WORDS);
  const domain = email.split("@")[1] ?? "";
  const place = subject.replace(/^https?:\/\//, "");
  const texts = [subject, place, identity.subject, login, name, email, domain];
  const terms = new Set([...texts, ...words].map(folded));
  // A term that begins another is found by that one.
  return [...terms].filter((term) =>
    term !== "" &&
    ![...terms].some((other) => other !== term && other.startsWith(term))
  );
}

/** The words of a search, folded; a person is found who has all of them. */
export function searchWords(search: string): string[] {
  return folded(search).split(" ").filter((word) => word !== "");
}

/** Tells if a person has words that begin with all of these. */
export function isFoundBy(person: Person, words: readonly string[]): boolean {
  const terms = personTerms(person).flatMap((
    term,
  ) => [term, ...term.split(" ")]);
  return words.every((word) => terms.some((term) => term.startsWith(word)));
}
