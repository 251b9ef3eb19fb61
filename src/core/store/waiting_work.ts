/**
 * Resumes durable work that waits, and finds the grant of its task. The records
 * belong to the feature `work`.
 *
 * @module
 */
import type { Caller } from "../caller.ts";
import type { Database, Expiring, Transaction } from "../kv/database.ts";
import { taskRunKey, tasksOfKey, wakeKey } from "../kv/keys.ts";

/**
 * The seconds from the first to the second time that durable work is resumed.
 */
const SECOND_WAKE_SECONDS = 10;

/**
 * The seconds after which work is resumed if the process dies that lets it
 * continue: more than that process may take to store the change.
 */
export const CERTAIN_SECONDS = 90;

export function setWake(
  transaction: Transaction,
  { address, taskId, dueSeconds, expiresAt }: Expiring & {
    /** The base URL of the server that the work belongs to. */
    address: string;
    taskId: string;
    dueSeconds: number;
  },
): void {
  const key = wakeKey(address, dueSeconds, taskId);
  transaction.set<Expiring>(key, { expiresAt });
}

/**
 * Resumes waiting durable work twice. The first time, a process may still be
 * about to suspend it. By the second time the work is suspended, or its process
 * has seen the answer.
 */
export function wakeTwice(
  transaction: Transaction,
  { address, taskId, expiresAt }: Omit<
    Parameters<typeof setWake>[1],
    "dueSeconds"
  >,
  first: number,
): void {
  for (const dueSeconds of [first, first + SECOND_WAKE_SECONDS]) {
    setWake(transaction, { address, taskId, dueSeconds, expiresAt });
  }
}

/** Finds the grant that last used the task of durable work. */
export async function grantOfRun(
  database: Database,
  taskId: string,
): Promise<string | undefined> {
  const run = await database.find<Expiring & { caller: Caller }>(
    taskRunKey(taskId),
  );
  const used = run && await database.find<Expiring & { grantId?: string }>(
    tasksOfKey(run.value.caller.binding, taskId),
  );
  return used?.value.grantId;
}
