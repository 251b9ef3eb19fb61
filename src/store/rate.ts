/**
 * What each process took from its buckets, told to the others. Every process
 * writes a record of its own, so that none waits for another.
 *
 * @module
 */
import { now } from "../clock.ts";
import { randomId } from "../crypto.ts";
import { rateKey } from "./keys.ts";
import { commit, expireIn, type Expiring, reach } from "./kv.ts";

/** Far more than a process leaves between two of its records. */
const RATE_SECONDS = 60;

/** How much was taken, by the name of a bucket. */
export type Taken = Readonly<Record<string, number>>;

interface RateRecord extends Expiring {
  /** Since each bucket was last full; only for those that are in use. */
  taken: Taken;
}

/** The counts of one endpoint. */
export interface RateStore {
  /** Tells what was taken here, and gives what others took since the last time. */
  exchange(taken: Taken): Promise<Taken[]>;
}

/** Counts in a database. */
export function rateStore(kv: Deno.Kv, endpoint: string): RateStore {
  const processId = randomId(12);
  const key = rateKey(endpoint, processId);
  let seen = new Map<string, Taken>();

  return {
    async exchange(taken) {
      const record: RateRecord = { taken, expiresAt: now() + RATE_SECONDS };
      const [entries] = await Promise.all([
        reach(() =>
          Array.fromAsync(kv.list<RateRecord>({ prefix: rateKey(endpoint) }))
        ),
        commit(kv, (operation) => operation.set(key, record, expireIn(record))),
      ]);
      const before = seen;
      seen = new Map();
      return entries.flatMap(({ key, value }) => {
        const other = String(key.at(-1));
        if (other === processId || value.expiresAt <= now()) return [];
        seen.set(other, value.taken);
        return [since(before.get(other) ?? {}, value.taken)];
      });
    },
  };
}

/** What came to be taken between two records of a process; some is given back. */
function since(before: Taken, after: Taken): Taken {
  return Object.fromEntries(
    Object.entries(after).map((
      [name, count],
    ) => [name, Math.max(0, count - (before[name] ?? 0))]),
  );
}
