/**
 * The times at which durable work is looked at, in their order: the end of a
 * sleep, an answer that has come, or the moment at which a lease ought to have
 * been renewed. An entry that is there for nothing does no harm.
 *
 * @module
 */
import type { Database, Expiring, Transaction } from "./database.ts";
import { dueWakesRange, partsOfWake, taskRunKey, wakeKey } from "./keys.ts";
import type { RunRecord } from "./run_record.ts";

export interface Wake {
  taskId: string;
  dueSeconds: number;
  key: Deno.KvKey;
  versionstamp: string;
}

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

/** Later than any wake. */
const LAST_SECONDS = Number.MAX_SAFE_INTEGER - 1;

/** Durable work that goes on, for operators. Times are epoch seconds. */
export interface WorkAhead
  extends Pick<RunRecord, "tool" | "isParked" | "deaths" | "missingSince"> {
  taskId: string;
  createdAt: number;
  /** The time at which a process looks at it. */
  dueSeconds: number;
}

/**
 * Lists the work of the next wakes, of everyone, without what it was given and
 * what it gave: that which is most overdue comes first.
 *
 * @param most the most wakes that are read, with a run each
 * @returns `isCut` when there may be more
 */
export async function workAhead(
  database: Database,
  most: number,
): Promise<{ work: WorkAhead[]; isCut: boolean }> {
  const wakes = await wakeStore(database).due(most, LAST_SECONDS);
  const first = new Map(
    wakes.toReversed().map(({ taskId, dueSeconds }) => [taskId, dueSeconds]),
  );
  const due = [...first].sort(([, one], [, other]) => one - other);
  const runs = await database.getMany<RunRecord[]>(
    due.map(([taskId]) => taskRunKey(taskId)),
  );
  const work = due.flatMap(([taskId, dueSeconds], index) => {
    const { value: run } = runs[index];
    // A wake of work that has ended is there for nothing.
    if (!run) return [];
    const { tool, createdMilliseconds, isParked, deaths, missingSince } = run;
    const createdAt = Math.floor(createdMilliseconds / 1000);
    const state = { isParked, deaths, missingSince };
    return [{ taskId, tool, createdAt, dueSeconds, ...state }];
  });
  return { work, isCut: wakes.length >= most };
}
