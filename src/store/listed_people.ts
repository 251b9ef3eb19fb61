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
import type { Database } from "./database.ts";
import { personKey, type PersonOrder } from "./keys.ts";
import type { Expiring } from "./record.ts";
import type { Transaction } from "./transaction.ts";

const DAY_SECONDS = 24 * 60 * 60;
const MARK_CHARACTERS = 16;

/** The record of a person in a list. */
export interface ListedPerson extends Expiring {
  subject: string;
}

/** The rows that list the person of a grant. */
function rowsOf(
  { subject, identity, createdAt, endsAt }: Grant,
): { keys: Deno.KvKey[]; listing: string; terms: string[] } {
  const known = { subject, identity };
  const listing = listingOf(known);
  const terms = personTerms(known);
  // Grants of one lifetime end in the order in which they began, so none
  // shortens the row of another. The day is for clocks that differ and for late
  // commits.
  const days = Math.ceil((endsAt - createdAt) / DAY_SECONDS);
  const key = (by: PersonOrder, text: string) =>
    personKey({ by, text, subject, days });
  return {
    keys: [key("name", listing), ...terms.map((term) => key("word", term))],
    listing,
    terms,
  };
}

/**
 * Adds the person of a live grant to the lists, in the commit of the grant;
 * gives the grant with a mark of what is listed.
 */
export function listPerson(transaction: Transaction, grant: Grant): Grant {
  if (grant.status !== "active" || grant.kind === "client") return grant;
  const { keys, listing, terms } = rowsOf(grant);
  const listedAs = fingerprint(JSON.stringify([listing, terms]))
    .slice(0, MARK_CHARACTERS);
  if (listedAs === grant.listedAs) return grant;
  const { subject, endsAt } = grant;
  const listed: ListedPerson = { subject, expiresAt: endsAt + DAY_SECONDS };
  for (const key of keys) transaction.set(key, listed);
  return { ...grant, listedAs };
}

/**
 * Takes the person of ended grants out of the lists, unless another grant of
 * theirs lives.
 */
export async function unlistPerson(
  database: Database,
  ended: readonly Grant[],
  hasLive: (subject: string) => Promise<boolean>,
): Promise<void> {
  const places = new Map(
    // Grants of other lifetimes wrote other rows at the same places.
    ended.filter(({ kind }) => kind !== "client")
      .flatMap((grant) => rowsOf(grant).keys)
      .map((key) => key.slice(0, -1))
      .map((place) => [JSON.stringify(place), place]),
  );
  const lists = await Promise.all(
    [...places.values()].map((place) => database.list<ListedPerson>(place)),
  );
  const there = lists.flat();
  if (there.length === 0 || await hasLive(ended[0].subject)) return;
  // A grant that comes meanwhile writes these rows again, and they stay.
  await database.commit((transaction) =>
    transaction.check(...there).delete(...there.map(({ key }) => key))
  );
}
