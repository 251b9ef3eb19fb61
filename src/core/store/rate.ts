/**
 * Token buckets that all processes share. Each process takes several tokens at
 * a time. A bucket is stored as one number: the time at which it is full again.
 * Its record is changed with a check, so that no two processes take the same
 * tokens.
 * @see https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
 * @module
 */
import type { Database, Entry, Expiring } from "../kv/database.ts";
import { bucketKey } from "../kv/keys.ts";

/** The size of a bucket, and the rate at which it fills. */
export interface Rate {
  burst: number;
  perSecond: number;
}

/** The arithmetic of buckets of one size. */
export class BucketMath {
  readonly costMilliseconds: number;
  readonly spanMilliseconds: number;

  constructor({ burst, perSecond }: Rate) {
    this.costMilliseconds = 1000 / perSecond;
    this.spanMilliseconds = burst * this.costMilliseconds;
  }

  /**
   * Takes at most `requested` tokens from a bucket that is full again at
   * `fullAt`. The `spent` tokens, which were already used, are taken in any
   * case. Returns the new time, and the milliseconds to wait if no token was
   * given.
   */
  take(fullAt: number, time: number, { requested = 1, spent = 0 } = {}) {
    // A bucket never holds less than nothing, even if clocks differ or are set
    // back.
    const empty = time + this.spanMilliseconds;
    const cost = this.costMilliseconds;
    const used = Math.min(Math.max(time, fullAt) + spent * cost, empty);
    const given = Math.min(requested, Math.floor((empty - used) / cost + 1e-6));
    const waitMilliseconds = given > 0 ? 0 : used + cost - empty;
    return { given, waitMilliseconds, fullAt: used + given * cost };
  }
}

interface BucketRecord extends Expiring {
  /** The time at which the bucket is full again, in epoch milliseconds. */
  fullAt: number;
}

export type RateStore = ReturnType<typeof rateStore>;

/** Makes the store of the buckets of one size. */
export function rateStore(database: Database, purpose: string, rate: Rate) {
  const filling = new BucketMath(rate);
  return {
    /** Takes tokens from a stored bucket; see {@linkcode BucketMath.take}. */
    take(name: string, requested: number, spent: number) {
      const key = bucketKey(purpose, name);
      return database.change(
        key,
        (transaction, { value }: Entry<BucketRecord>) => {
          const before = value?.fullAt ?? 0;
          const { fullAt, ...taken } = filling.take(before, database.clock(), {
            requested,
            spent,
          });
          if (fullAt === before) return taken;
          const expiresAt = Math.ceil(fullAt / 1000);
          transaction.set<BucketRecord>(key, { fullAt, expiresAt });
          return taken;
        },
      );
    },
  };
}
