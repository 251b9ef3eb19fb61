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

/** A call that goes on after its answer. */
export interface NotYet {
  taskId: string;
  /** Tells how far it is. */
  state: string;
  /** True if the same call again gives the result, and no tool of the server. */
  isRepeatable?: true;
}

/** Makes the member of a result that clients of ours read. */
export function notYetMeta(notYet: NotYet) {
  return { _meta: { [TASK]: notYet } };
}

/**
 * Reads an answer that is not the result yet. Its words prove nothing: a tool
 * may repeat a stranger's.
 */
export function parseNotYet(
  { _meta }: { _meta?: unknown },
): NotYet | undefined {
  const task = isObject(_meta) ? _meta[TASK] : undefined;
  if (!isObject(task)) return undefined;
  const { taskId, state, isRepeatable } = task;
  if (typeof taskId !== "string" || typeof state !== "string") return undefined;
  return { taskId, state, ...isRepeatable === true && { isRepeatable } };
}
