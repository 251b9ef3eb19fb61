/**
 * The times at which durable work is looked at, in their order: the end of a
 * sleep, an answer that has come, or the moment at which a lease ought to have
 * been renewed. An entry that is there for nothing does no harm.
 *
 * @module
 */
import type { Database, Expiring, KeyRange } from "./database.ts";
import { dueWakesRange, partsOfWake, wakeKey } from "./keys.ts";
import type { Transaction } from "./transaction.ts";

/** A wake that is due. */
export interface Wake {
  taskId: string;
  dueSeconds: number;
  key: Deno.KvKey;
  versionstamp: string;
}

export type WakeStore = ReturnType<typeof wakeStore>;

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

/** Opens the wakes of a database. */
export function wakeStore(database: Database) {
  async function first(range: KeyRange, limit: number): Promise<Wake[]> {
    const { found } = await database.listSome<Expiring>(range, limit);
    return found.map(({ key, versionstamp }) => ({
      ...partsOfWake(key),
      key,
      versionstamp,
    }));
  }

  return {
    /** Lists the oldest wakes that are due: one bounded read. */
    async due(limit: number): Promise<Wake[]> {
      return await first(dueWakesRange(database.now()), limit);
    },

    /** Lists the next wakes, those that are due first: one bounded read. */
    async next(limit: number): Promise<Wake[]> {
      return await first(dueWakesRange(Number.MAX_SAFE_INTEGER - 1), limit);
    },

    /** Removes a wake that is there for nothing, unless it was set again. */
    async drop(wake: Wake): Promise<void> {
      await database.commit((transaction) =>
        transaction.check(wake).delete(wake.key)
      );
    },
  };
}
