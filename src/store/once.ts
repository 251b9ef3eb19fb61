/**
 * What may be used once. A use whose request was answered with 503 does not
 * count, though the database has carried it out: its request may be repeated.
 *
 * @module
 */
import type { Database, Expiring } from "./database.ts";
import type { Transaction, Write } from "./transaction.ts";

/** Marks a key as used, in a commit that fails when it was used before. */
export function using(key: Deno.KvKey, used: Expiring): Write {
  return (transaction) => transaction.create(key, used);
}

/**
 * Marks a key as used again, as {@linkcode using} does, where its use does not
 * count; undefined where it does.
 */
export async function usingAgain(
  database: Database,
  key: Deno.KvKey,
  used: Expiring,
): Promise<Write | undefined> {
  // What has expired is refused too, until it is collected.
  const entry = await database.get<Expiring>(key);
  if (entry.versionstamp === null) return using(key, used);
  if (!await database.isGivenUp(entry)) return undefined;
  return (transaction) => transaction.check(entry).set(key, used);
}

/** A use that counts, unless it is given back. */
export interface Use {
  /** Its request is answered with 503 after all, and may be repeated. */
  giveBack(): void;
}

/** Marks a key as used; undefined when it was used before. */
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
