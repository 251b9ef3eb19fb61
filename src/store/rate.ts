/**
 * Token buckets that all processes take from, a part at a time. A record says
 * when its bucket is full again; it is changed under a check, so that no two
 * processes take the same.
 *
 * @module
 */
import type { Rate } from "../http/buckets.ts";
import type { Database, Expiring } from "./database.ts";
import { bucketKey } from "./keys.ts";

interface BucketRecord extends Expiring {
  /** The time when the bucket is full again, in epoch milliseconds. */
  fullAt: number;
}

/** The tokens taken out of a bucket. */
interface BucketPart {
  /** The number of tokens: 0 if the bucket is empty. */
  given: number;
  /** The time until there is one again; 0 if some was given. */
  waitMilliseconds: number;
}

export type RateStore = ReturnType<typeof rateStore>;

/** The buckets of one size in a database. */
export function rateStore(
  database: Database,
  purpose: string,
  { burst, perSecond }: Rate,
) {
  const costMilliseconds = 1000 / perSecond;
  const spanMilliseconds = burst * costMilliseconds;

  return {
    /**
     * Takes at most `wish` tokens out of a bucket.
     *
     * @param spent the number of requests that were let through already: taken
     * in any case
     */
    async take(name: string, wish: number, spent: number): Promise<BucketPart> {
      for (;;) {
        const entry = await database.get<BucketRecord>(
          bucketKey(purpose, name),
        );
        const time = database.clock();
        const before = Math.max(time, entry.value?.fullAt ?? 0);
        // No debt, and nothing takes longer to fill than an empty one: clocks
        // differ, and may be set back.
        const empty = time + spanMilliseconds;
        const used = Math.min(before + spent * costMilliseconds, empty);
        const room = Math.floor((empty - used) / costMilliseconds + 1e-6);
        const given = Math.min(wish, room);
        const waitMilliseconds = given > 0
          ? 0
          : used + costMilliseconds - empty;
        if (given === 0 && spent === 0) return { given, waitMilliseconds };
        const fullAt = used + given * costMilliseconds;
        const isDone = await database.commit((transaction) =>
          transaction.check(entry).set<BucketRecord>(entry.key, {
            fullAt,
            expiresAt: Math.ceil(fullAt / 1000),
          })
        );
        if (isDone) return { given, waitMilliseconds };
      }
    },
  };
}
