/**
 * Records of things that may be used once. A use does not count if its request
 * was answered with 503, even if the database applied it: the request may be
 * repeated.
 *
 * @module
 */
import type { Database, Expiring } from "./database.ts";
import type { Transaction, Write } from "./transaction.ts";

/** Marks a key as used, in a commit that fails if it was used before. */
export function using(key: Deno.KvKey, used: Expiring): Write {
  return (transaction) => transaction.create(key, used);
}

/** Marks a key as used if its use does not count; undefined if it does. */
export async function usingAgain(
  database: Database,
  key: Deno.KvKey,
  used: Expiring,
): Promise<Write | undefined> {
  // A use that has expired is refused too, until it is collected.
  const entry = await database.get<Expiring>(key);
  if (entry.versionstamp === null) return using(key, used);
  if (!await database.mayRepeat(entry)) return undefined;
  return (transaction) => transaction.check(entry).set(key, used);
}

/** A use that counts, unless it is given back. */
export interface Use {
  /** Notes that its request is answered with 503 after all. */
  giveBack(): void;
}

/** Marks a key as used; undefined if it was used before. */
export async function useOnce(
  database: Database,
  key: Deno.KvKey,
  used: Expiring,
): Promise<Use | undefined> {
  let write: Write | undefined = using(key, used);
  while (write) {
    let sent: Transaction | undefined;
    const isUsed = await database.commit((transaction) =>
      write!(sent = transaction)
    );
    if (isUsed) return { giveBack: () => database.giveUp(sent!) };
    write = await usingAgain(database, key, used);
  }
}
