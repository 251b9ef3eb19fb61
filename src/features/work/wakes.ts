/**
 * The times at which durable work is due, in their order: the end of a
 * sleep, an answer that has come, or the time at which a lease ought to have
 * been renewed. A superfluous entry does no harm.
 *
 * @module
 */
import type {
  Database,
  Expiring,
  KeyRange,
  Transaction,
} from "../../core/kv/database.ts";
import {
  dueWakesRange,
  partsOfWake,
  taskRunKey,
  wakeKey,
  wakesAfter,
  wakesBeside,
} from "../../core/kv/keys.ts";
import type { RunRecord } from "./run_record.ts";

export interface Wake {
  taskId: string;
  dueSeconds: number;
  key: Deno.KvKey;
  versionstamp: string;
}

/** The time until the second wake: the waiting process has the answer then. */
const SECOND_WAKE_SECONDS = 10;

export function setWake(
  transaction: Transaction,
  { address, taskId, dueSeconds, expiresAt }: Expiring & {
    /** The address of the run, see {@linkcode RunRecord}. */
    address: string;
    taskId: string;
    dueSeconds: number;
  },
): void {
  const key = wakeKey(address, dueSeconds, taskId);
  transaction.set<Expiring>(key, { expiresAt });
}

/**
 * Wakes durable work that waits, twice. At the first wake a process may still
 * work on the run, and be about to park it. By the second, the run is parked or
 * its process has seen what it waits for.
 */
export function wakeTwice(
  transaction: Transaction,
  { address, taskId, expiresAt }: Omit<
    Parameters<typeof setWake>[1],
    "dueSeconds"
  >,
  now: number,
): void {
  for (const dueSeconds of [now, now + SECOND_WAKE_SECONDS]) {
    setWake(transaction, { address, taskId, dueSeconds, expiresAt });
  }
}

export function wakeStore(database: Database) {
  async function list(
    range: KeyRange,
    limit: number,
  ): Promise<Wake[]> {
    const { found } = await database.listSome<Expiring>(range, limit);
    return found.map(({ key, versionstamp }) => ({
      ...partsOfWake(key),
      key,
      versionstamp,
    }));
  }

  return {
    /**
     * Lists the oldest wakes that are due: one bounded read for each address.
     * Work of other addresses is left to their servers.
     *
     * @param until epoch seconds
     */
    async due(
      limit: number,
      addresses: readonly string[] = [""],
      until = database.now(),
    ): Promise<Wake[]> {
      const lists = await Promise.all(
        addresses.map((address) => list(dueWakesRange(address, until), limit)),
      );
      return oldestFirst(lists.flat()).slice(0, limit);
    },

    /** Lists the oldest wakes of all addresses, due or not. */
    async all(limit: number): Promise<Wake[]> {
      let oldest: Wake[] = [];
      let last: Deno.KvKey | undefined;
      // An address after another: within each the keys are in order of time.
      for (;;) {
        ({ last } = await database.listSome(wakesAfter(last), 1));
        if (!last) return oldest;
        const more = await list(wakesBeside(last), limit);
        oldest = oldestFirst([...oldest, ...more]).slice(0, limit);
      }
    },

    /** Removes a wake that is not needed any more, unless it was set again. */
    async drop(wake: Wake): Promise<void> {
      await database.commit((transaction) =>
        transaction.check(wake).delete(wake.key)
      );
    },
  };
}

function oldestFirst(wakes: Wake[]): Wake[] {
  return wakes.sort((a, b) => a.dueSeconds - b.dueSeconds);
}

/** Durable work that goes on, for operators. Times are epoch seconds. */
export interface WorkAhead
  extends Pick<RunRecord, "tool" | "isParked" | "deaths" | "missingSince"> {
  taskId: string;
  createdAt: number;
  /** The time at which a process checks the work. */
  dueSeconds: number;
}

/**
 * Lists the durable work of the next wakes, of everyone, without its input and
 * its results. The most overdue comes first.
 *
 * @param most the most wakes that are read, with a run each
 * @returns `hasMore` when there may be more
 */
export async function workAhead(
  database: Database,
  most: number,
): Promise<{ work: WorkAhead[]; hasMore: boolean }> {
  const wakes = await wakeStore(database).all(most);
  const first = new Map(
    wakes.toReversed().map(({ taskId, dueSeconds }) => [taskId, dueSeconds]),
  );
  const due = [...first].sort(([, one], [, other]) => one - other);
  const runs = await database.getMany<RunRecord[]>(
    due.map(([taskId]) => taskRunKey(taskId)),
  );
  const work = due.flatMap(([taskId, dueSeconds], index) => {
    const { value: run } = runs[index];
    // The wake of work that has ended is superfluous.
    if (!run) return [];
    const { tool, createdMilliseconds, isParked, deaths, missingSince } = run;
    const createdAt = Math.floor(createdMilliseconds / 1000);
    const state = { isParked, deaths, missingSince };
    return [{ taskId, tool, createdAt, dueSeconds, ...state }];
  });
  return { work, hasMore: wakes.length >= most };
}
