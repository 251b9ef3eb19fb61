/**
 * Each process's bucket counts, for the others. Every process writes its own
 * record, so that none waits for another.
 *
 * @module
 */
import { randomId } from "../crypto.ts";
import type { Database, Expiring } from "./database.ts";
import { rateKey } from "./keys.ts";

/**
 * The lifetime of a record: far longer than the time between two records of a
 * process.
 */
const RATE_SECONDS = 60;

/** The number of tokens taken, by the name of a bucket. */
export type Taken = Readonly<Record<string, number>>;

interface RateRecord extends Expiring {
  /**
   * Counts since each bucket was last full; only of buckets that are in use.
   */
  taken: Taken;
}

export type RateStore = ReturnType<typeof rateStore>;

/** Opens the counts of one endpoint in a database. */
export function rateStore(database: Database, endpoint: string) {
  const processId = randomId(12);
  const key = rateKey(endpoint, processId);
  let seen = new Map<string, Taken>();

  return {
    /**
     * Writes the counts of this process, and gives those of the others since
     * the last time.
     */
    async exchange(taken: Taken): Promise<Taken[]> {
      const record: RateRecord = {
        taken,
        expiresAt: database.now() + RATE_SECONDS,
      };
      const [all] = await Promise.all([
        database.list<RateRecord>(rateKey(endpoint)),
        database.commit((transaction) => transaction.set(key, record)),
      ]);
      const before = seen;
      seen = new Map();
      return all.flatMap(({ key, value }) => {
        const other = String(key.at(-1));
        if (other === processId) return [];
        seen.set(other, value.taken);
        return [since(before.get(other) ?? {}, value.taken)];
      });
    },
  };
}

/**
 * Computes the increase between two records of a process; tokens may have been
 * given back.
 */
function since(before: Taken, after: Taken): Taken {
  return Object.fromEntries(
    Object.entries(after).map((
      [name, count],
    ) => [name, Math.max(0, count - (before[name] ?? 0))]),
  );
}
