/**
 * The durable work that is looked at next, of everyone, for operators: without
 * what it was given, and without what it gave.
 *
 * @module
 */
import type { Database } from "./database.ts";
import { taskRunKey } from "./keys.ts";
import type { RunRecord } from "./run_record.ts";
import { wakeStore } from "./wakes.ts";

/** Later than any wake. */
const LAST_SECONDS = Number.MAX_SAFE_INTEGER - 1;

/** Durable work that goes on. Times are epoch seconds. */
export interface WorkAhead
  extends Pick<RunRecord, "tool" | "isParked" | "deaths" | "missingSince"> {
  taskId: string;
  createdAt: number;
  /** The time at which a process looks at it. */
  dueSeconds: number;
}

/**
 * Lists the work of the next wakes: that which is most overdue comes first.
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
