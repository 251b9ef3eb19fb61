/**
 * What stands in the database for a task.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import { taskKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find } from "./kv.ts";
import type { TextRef } from "./texts.ts";

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

/**
 * Applies a change to a live task until no other one comes between; false
 * when it has ended, or `change` wants nothing.
 */
export async function updateTask(
  kv: Deno.Kv,
  taskId: string,
  change: (record: TaskRecord) => Partial<TaskRecord> | undefined,
  also: (operation: Deno.AtomicOperation) => Deno.AtomicOperation = (
    operation,
  ) => operation,
): Promise<boolean> {
  const key = taskKey(taskId);
  for (;;) {
    const found = await find<TaskRecord>(kv, key);
    if (!found || isTerminal(found.value.status)) return false;
    const { value, versionstamp } = found;
    const changes = change(value);
    if (!changes) return false;
    const record: TaskRecord = {
      ...value,
      ...changes,
      // It tells one state from the next, however fast they follow.
      updatedMilliseconds: Math.max(
        Date.now(),
        value.updatedMilliseconds + 1,
      ),
    };
    const isDone = await commit(kv, (operation) =>
      also(
        operation.check({ key, versionstamp }).set(
          key,
          record,
          expireIn(record),
        ),
      ));
    if (isDone) return true;
  }
}
