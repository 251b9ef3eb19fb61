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

/** The lifetime of a task after it was created, in seconds. */
export const TASK_SECONDS = 24 * 60 * 60;

/** MCP extension Tasks, Task Status. */
export type TaskStatus =
  | "working"
  | "input_required"
  | "completed"
  | "failed"
  | "cancelled";

/** A stored task; its answers and its lease have keys of their own. */
export interface TaskRecord extends Expiring {
  binding: string;
  /** The tool that works; absent in a task from before it was kept. */
  tool?: string;
  /** The grant that it was begun under: it names the client that asked. */
  grantId?: string;
  /** The scopes its tool needed; absent: none. */
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
  /** True if the result says that the tool has failed. */
  isError?: true;
  /** Present if its work survives its process. */
  durable?: {
    /** The seconds for which it stays after its end. */
    keep: number;
    /** The list that counts it. */
    list: string;
  };
}

/** True if nothing more happens to a task. */
export function isTerminal(status: TaskStatus): boolean {
  return status !== "working" && status !== "input_required";
}

/**
 * Computes the time of an update, which is always later than the one before.
 */
export function nextUpdate(
  { clock }: Database,
  { updatedMilliseconds }: TaskRecord,
): number {
  return Math.max(clock(), updatedMilliseconds + 1);
}

/**
 * Applies a change to a live task, again if another change comes between; false
 * if the task has ended, or `change` gives undefined.
 */
export async function changeTask(
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
