/**
 * The times at which durable work is looked at, in their order: the end of a
 * sleep, an answer that has come, or the moment at which a lease ought to have
 * been renewed. An entry that is there for nothing does no harm.
 *
 * @module
 */
import type { Database, Expiring } from "./database.ts";
import { dueWakesRange, partsOfWake, wakeKey } from "./keys.ts";
import type { Transaction } from "./transaction.ts";

export interface Wake {
  taskId: string;
  dueSeconds: number;
  key: Deno.KvKey;
  versionstamp: string;
}

/** Adds a wake to a transaction. */
export function setWake(
  transaction: Transaction,
  { taskId, dueSeconds, expiresAt }: Expiring & {
    taskId: string;
    dueSeconds: number;
  },
): void {
  transaction.set<Expiring>(wakeKey(dueSeconds, taskId), { expiresAt });
}

export function wakeStore(database: Database) {
  return {
    /**
     * Lists the oldest wakes that are due: one bounded read.
     *
     * @param until epoch seconds
     */
    async due(limit: number, until = database.now()): Promise<Wake[]> {
      const range = dueWakesRange(until);
      const { found } = await database.listSome<Expiring>(range, limit);
      return found.map(({ key, versionstamp }) => ({
        ...partsOfWake(key),
        key,
        versionstamp,
      }));
    },

    /** Removes a wake that is there for nothing, unless it was set again. */
    async drop(wake: Wake): Promise<void> {
      await database.commit((transaction) =>
        transaction.check(wake).delete(wake.key)
      );
    },
  };
}
