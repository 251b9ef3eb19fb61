/**
 * The answer to a call whose result is not there yet, as clients of ours read
 * it.
 *
 * @module
 */
import { isObject } from "../json.ts";

/** The server's own tools, by what they do. */
export const TASK_STATUS = "task_status";
export const TASK_CANCEL = "task_cancel";

/** The answer about a task that is none of the caller's. */
export const UNKNOWN_TASK =
  "You have no task with this ID, or its result is no longer kept. Call the tool again.";

/** True for a result that says {@linkcode UNKNOWN_TASK}. */
export function isUnknownTask({ content }: { content?: unknown }): boolean {
  const first = Array.isArray(content) ? content[0] : undefined;
  return isObject(first) && first.text === UNKNOWN_TASK;
}

/** The member of a result's `_meta` that tells of the task. */
const TASK = "tool-server/task";

/** Makes the member of a result that clients of ours read. */
export function notYetMeta(taskId: string, state: string) {
  return { _meta: { [TASK]: { taskId, state } } };
}

/**
 * Reads an answer that is not the result yet. Its words prove nothing: a tool
 * may repeat a stranger's.
 */
export function parseNotYet(
  { _meta }: { _meta?: unknown },
): { taskId: string; state: string } | undefined {
  const task = isObject(_meta) ? _meta[TASK] : undefined;
  if (!isObject(task)) return undefined;
  const { taskId, state } = task;
  return typeof taskId === "string" && typeof state === "string"
    ? { taskId, state }
    : undefined;
}
