/**
 * Token buckets that all processes share. A bucket is one number: the moment
 * at which it will be full again.
 *
 * @see https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
 * @module
 */
import { HttpError } from "../errors.ts";
import { rateKey } from "./keys.ts";
import { commit, expireIn, type Expiring, reach } from "./kv.ts";

/** How many at once, and how many in the long run. */
export interface Rate {
  burst: number;
  perSecond: number;
}

interface BucketRecord extends Expiring {
  /** When the bucket is full again, in epoch milliseconds. */
  fullAt: number;
}

/** Buckets of one endpoint. */
export interface RateStore {
  /**
   * Takes one from a bucket.
   *
   * @throws {HttpError} 429 with `Retry-After` when it is empty
   */
  take(who: string, rate: Rate): Promise<void>;
}

/** Buckets in a database. */
export function rateStore(kv: Deno.Kv, endpoint: string): RateStore {
  // One commit at a time for each bucket: within a process nobody loses a
  // check, and a flood waits here and not in the database.
  const queues = new Map<string, Promise<void>>();

  async function takeNow(who: string, rate: Rate): Promise<void> {
    const { burst, perSecond } = rate;
    const costMilliseconds = 1000 / perSecond;
    const key = rateKey(endpoint, who);
    for (;;) {
      const entry = await reach(() => kv.get<BucketRecord>(key));
      const time = Date.now();
      const fullAt = Math.max(entry.value?.fullAt ?? 0, time) +
        costMilliseconds;
      const waitMilliseconds = fullAt - time - burst * costMilliseconds;
      if (waitMilliseconds > 0) {
        throw new HttpError(429, "Too many requests, try again shortly", {
          "retry-after": String(Math.ceil(waitMilliseconds / 1000)),
        });
      }
      const record: BucketRecord = {
        fullAt,
        expiresAt: Math.ceil(fullAt / 1000) + 1,
      };
      const taken = await commit(
        kv,
        (operation) =>
          operation.check(entry).set(key, record, expireIn(record)),
      );
      if (taken) return;
    }
  }

  return {
    take(who, rate) {
      const before = queues.get(who) ?? Promise.resolve();
      const taking = before.catch(() => {}).then(() => takeNow(who, rate));
      queues.set(who, taking);
      return taking.finally(() => {
        if (queues.get(who) === taking) queues.delete(who);
      });
    },
  };
}
