/**
 * The result of a call that continues as a task, in the form that this
 * project's clients parse.
 * @module
 */
import { isObject } from "../json.ts";

/** The names of the server's own task tools. */
export const TASK_STATUS = "task_status";
export const TASK_CANCEL = "task_cancel";

/**
 * The text of the result for a task that does not exist or is not the caller's.
 */
export const UNKNOWN_TASK =
  "You have no task with this ID, or its result is no longer kept. Call the tool again.";

export function isUnknownTask({ content }: { content?: unknown }): boolean {
  const first = Array.isArray(content) ? content[0] : undefined;
  return isObject(first) && first.text === UNKNOWN_TASK;
}

/** The member of a result's `_meta` that has the {@linkcode NotYet}. */
const TASK = "tool-server/task";

/** The state of a call that still runs after its result was sent. */
export interface NotYet {
  taskId: string;
  /** The progress of the task, as a sentence. */
  state: string;
  /**
   * True if the client gets the result by repeating the call; otherwise it
   * calls {@linkcode TASK_STATUS}.
   */
  isRepeatable?: true;
}

/** The member of a result's `_meta` that has links for the person. */
export const LINKS_META = "tool-server/links";

/**
 * Makes the `_meta` of a result that says that the call is still running.
 * @param link the page on which a person has to answer first
 */
export function notYetMeta(
  notYet: NotYet,
  link?: { url: string; message: string },
) {
  return { _meta: { [TASK]: notYet, ...link && { [LINKS_META]: [link] } } };
}

/**
 * Returns the {@linkcode NotYet} of a result; undefined if there is none. Only
 * `_meta` is read, because a tool's text may come from anyone.
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
