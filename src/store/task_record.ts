/**
 * The record of a task.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { MaybePromise } from "../authoring/service.ts";
import type { Database, Expiring } from "./database.ts";
import { taskKey } from "./keys.ts";
import type { TextRef } from "./texts.ts";
import type { Transaction } from "./transaction.ts";

/** How long a task can be asked for after it was created. */
export const TASK_SECONDS = 24 * 60 * 60;

/** MCP extension Tasks, Task Status. */
export type TaskStatus =
  | "working"
  | "input_required"
  | "completed"
  | "failed"
  | "cancelled";

/** A task as it is kept; answers and the lease have keys of their own. */
export interface TaskRecord extends Expiring {
  binding: string;
  /** What its tool needed; absent: nothing. */
  scopes?: readonly string[];
  status: TaskStatus;
  statusMessage?: string;
  /** Epoch milliseconds: they are printed as timestamps. */
  createdMilliseconds: number;
  updatedMilliseconds: number;
  /** Questions that wait for an answer, by key. */
  questions: Record<string, TextRef>;
  /** The result or the error, once there is one. */
  outcome?: TextRef;
}

/** Whether nothing happens to a task any more. */
export function isTerminal(status: TaskStatus): boolean {
  return status !== "working" && status !== "input_required";
}

/** It tells one state from the next, however fast they follow. */
export function nextUpdate(
  { clock }: Database,
  { updatedMilliseconds }: TaskRecord,
): number {
  return Math.max(clock(), updatedMilliseconds + 1);
}

/**
 * Applies a change to a live task until no other one comes between; false
 * when it has ended, or `change` wants nothing.
 */
export async function updateTask(
  database: Database,
  taskId: string,
  change: (
    record: TaskRecord,
  ) => MaybePromise<Partial<TaskRecord> | undefined>,
  also: (transaction: Transaction) => unknown = () => {},
): Promise<boolean> {
  for (;;) {
    const found = await database.find<TaskRecord>(taskKey(taskId));
    if (!found || isTerminal(found.value.status)) return false;
    const { key, value } = found;
    const changes = await change(value);
    if (!changes) return false;
    const record: TaskRecord = {
      ...value,
      ...changes,
      updatedMilliseconds: nextUpdate(database, value),
    };
    const isDone = await database.commit((transaction) => {
      also(transaction.check(found).set(key, record));
    });
    if (isDone) return true;
  }
}
