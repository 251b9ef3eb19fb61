/**
 * The lists of people who have grants: by name, and by every word that they are
 * found by. A person is listed in the commit that makes a grant of theirs live,
 * and shown as long as such a grant is live.
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

/** The time for which a person stays listed after their last connection. */
export const LISTED_LONGER_SECONDS = DAY_SECONDS;
const MARK_CHARACTERS = 16;

export interface ListedPerson extends Expiring {
  subject: string;
}

/** A person's entries in the lists, under a name that they have or had. */
interface IndexedPerson extends Expiring {
  /** The text of the entry by name. */
  name: string;
  /** The texts of the entries by word. */
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
 * Adds the person of a live grant to the lists, in the commit of the grant.
 * Returns the grant with a mark of the listing.
 */
export function listPerson(transaction: Transaction, grant: Grant): Grant {
  if (grant.status !== "active" || grant.kind === "client") return grant;
  const { subject, identity, createdAt, endsAt } = grant;
  // Grants of one lifetime end in the order in which they began, so none
  // shortens the row of another. The day below is for clocks that differ and
  // for late commits.
  const days = Math.ceil((endsAt - createdAt) / DAY_SECONDS);
  const { subject: own, login, name, email } = identity;
  // Everything that the list entries are made of: a refresh that changes none
  // of it makes no entries.
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
 * Takes a person out of the lists, under every name that they had, unless a
 * grant of theirs is live.
 */
export async function unlistPerson(
  database: Database,
  subject: string,
  hasLive: (subject: string) => Promise<boolean>,
): Promise<void> {
  const indexed = await database.list<IndexedPerson>(listedPersonKey(subject));
  const seen = new Set<string>();
  const read = await Promise.all(indexed.map(async (entry) => {
    // The entries share rows, such as that of the subject, which stays the same.
    const keys = rowsOf(subject, entry.value).filter((key) => {
      const printed = JSON.stringify(key);
      return !seen.has(printed) && seen.add(printed);
    });
    return [entry, ...await database.getMany(keys)];
  }));
  if (read.length === 0 || await hasLive(subject)) return;
  for (const [entry, ...rows] of read) {
    // The index entry goes last: if this stops half-way, the rows are found by it.
    for (const some of inParts([entry, ...rows], MAX_CHECKS)) {
      // The check keeps rows that a new grant has written meanwhile.
      await database.commit((transaction) =>
        transaction.check(...some).delete(...some.map(({ key }) => key))
      );
    }
  }
}
