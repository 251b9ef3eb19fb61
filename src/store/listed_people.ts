/**
 * The lists of people who have grants: by name, and by every word that they are
 * found by. A person is listed in the commit that makes a grant of theirs live,
 * and shown for as long as there is one.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { Grant } from "../auth/rules/grant.ts";
import { listingOf, personTerms } from "../auth/rules/person.ts";
import { personKey, type PersonOrder } from "./keys.ts";
import type { Expiring } from "./record.ts";
import type { Transaction } from "./transaction.ts";

const DAY_SECONDS = 24 * 60 * 60;
const MARK_CHARACTERS = 16;

/** The record of a person in a list. */
export interface ListedPerson extends Expiring {
  subject: string;
}

/**
 * Adds the person of a live grant to the lists, in the commit of the grant;
 * gives the grant with a mark of what is listed.
 */
export function listPerson(transaction: Transaction, grant: Grant): Grant {
  if (grant.status !== "active" || grant.kind === "client") return grant;
  const terms = personTerms(grant);
  const listing = listingOf(grant);
  const listedAs = fingerprint(JSON.stringify([listing, terms]))
    .slice(0, MARK_CHARACTERS);
  if (listedAs === grant.listedAs) return grant;
  const { subject, createdAt, endsAt } = grant;
  // Grants of one lifetime end in the order in which they began, so none
  // shortens the row of another. The day is for clocks that differ and for late
  // commits.
  const days = Math.ceil((endsAt - createdAt) / DAY_SECONDS);
  const listed: ListedPerson = { subject, expiresAt: endsAt + DAY_SECONDS };
  const add = (by: PersonOrder, text: string) =>
    transaction.set(personKey({ by, text, subject, days }), listed);
  add("name", listing);
  for (const term of terms) add("word", term);
  return { ...grant, listedAs };
}
