/**
 * The lists of people who have grants: by name, and by every term that a search
 * finds. A person is added by the commit that makes their grant active, and
 * shown as long as they have an active grant.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { Grant } from "../oauth/grant.ts";
import { personSortKey, personTerms } from "../oauth/person.ts";
import {
  type Database,
  type Expiring,
  MAX_CHECKS,
  type Transaction,
} from "../kv/database.ts";
import { listedPersonKey, personKey, type PersonOrder } from "../kv/keys.ts";
import { inParts } from "../kv/owner_list.ts";

const DAY_SECONDS = 24 * 60 * 60;

/**
 * The time for which a person stays listed after the end of their last
 * connection.
 */
export const LISTED_LONGER_SECONDS = DAY_SECONDS;
const MARK_CHARACTERS = 16;

export interface ListedPerson extends Expiring {
  subject: string;
}

/**
 * The list entries of a person under one name, which may be an earlier name.
 */
interface IndexedPerson extends Expiring {
  /** The text that the person is sorted by. */
  name: string;
  /** The search terms of the person, with a list entry for each. */
  terms: readonly string[];
  days: number;
}

function rowsOf(
  subject: string,
  { name, terms, days }: Omit<IndexedPerson, "expiresAt">,
): Deno.KvKey[] {
  const key = (by: PersonOrder, text: string) =>
    personKey(by, text, { subject, days });
  return [key("name", name), ...terms.map((term) => key("word", term))];
}

/**
 * Adds the person of an active grant to the lists, in the commit of the grant.
 * Returns the grant with the fingerprint of its list entries.
 */
export function listPerson(transaction: Transaction, grant: Grant): Grant {
  if (grant.status !== "active" || grant.kind === "client") return grant;
  const { subject, identity, createdAt, endsAt } = grant;
  // Grants of equal lifetime end in the order in which they began, so that none
  // shortens the entry of another. `LISTED_LONGER_SECONDS` makes up for clocks
  // that differ and for late commits.
  const days = Math.ceil((endsAt - createdAt) / DAY_SECONDS);
  const { subject: own, login, name, email } = identity;
  // All that the list entries depend on: a refresh that changes none of it
  // writes no entries.
  const listedAs = fingerprint(
    JSON.stringify([subject, own, login, name, email, days]),
  ).slice(0, MARK_CHARACTERS);
  if (listedAs === grant.listedAs) return grant;
  const known = { subject, identity };
  const texts = { name: personSortKey(known), terms: personTerms(known), days };
  const expiresAt = endsAt + LISTED_LONGER_SECONDS;
  for (const key of rowsOf(subject, texts)) {
    transaction.set<ListedPerson>(key, { subject, expiresAt });
  }
  transaction.set<IndexedPerson>(listedPersonKey(subject, listedAs), {
    ...texts,
    expiresAt,
  });
  return { ...grant, listedAs };
}

/**
 * Removes a person from the lists, under all their names, unless they have an
 * active grant.
 */
export async function unlistPerson(
  database: Database,
  subject: string,
  hasLive: (subject: string) => Promise<boolean>,
): Promise<void> {
  const indexed = await database.list<IndexedPerson>(listedPersonKey(subject));
  const seen = new Set<string>();
  const read = await Promise.all(indexed.map(async (entry) => {
    // Entries of several names have keys in common, such as that of the
    // subject.
    const keys = rowsOf(subject, entry.value).filter((key) => {
      const printed = JSON.stringify(key);
      return !seen.has(printed) && seen.add(printed);
    });
    return [entry, ...await database.getMany(keys)];
  }));
  if (read.length === 0 || await hasLive(subject)) return;
  for (const [entry, ...rows] of read) {
    // The index entry is deleted last: if this stops half-way, it still leads
    // to the other entries.
    for (const some of inParts([entry, ...rows], MAX_CHECKS)) {
      // With checks, so that entries that a new grant has just written are not
      // deleted.
      await database.commit((transaction) =>
        transaction.check(...some).delete(...some.map(({ key }) => key))
      );
    }
  }
}
