/**
 * Token buckets that all processes take from, a part at a time. A record says
 * when its bucket is full again; it is changed under a check, so that no two
 * processes take the same.
 *
 * @module
 */
import { Filling, type Rate } from "../http/buckets.ts";
import type { Database, Expiring } from "./database.ts";
import { bucketKey } from "./keys.ts";

interface BucketRecord extends Expiring {
  /** The time when the bucket is full again, in epoch milliseconds. */
  fullAt: number;
}

export type RateStore = ReturnType<typeof rateStore>;

/** The buckets of one size in a database. */
export function rateStore(database: Database, purpose: string, rate: Rate) {
  const filling = new Filling(rate);
  return {
    /** Takes tokens out of a bucket, as {@linkcode Filling.take} does. */
    async take(name: string, wish: number, spent: number) {
      for (;;) {
        const entry = await database.get<BucketRecord>(
          bucketKey(purpose, name),
        );
        const before = entry.value?.fullAt ?? 0;
        const { fullAt, ...taken } = filling.take(before, database.clock(), {
          wish,
          spent,
        });
        if (taken.given === 0 && spent === 0) return taken;
        const isDone = await database.commit((transaction) =>
          transaction.check(entry).set<BucketRecord>(entry.key, {
            fullAt,
            expiresAt: Math.ceil(fullAt / 1000),
          })
        );
        if (isDone) return taken;
      }
    },
  };
}
