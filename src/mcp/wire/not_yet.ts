/**
 * The answer to a call whose result is not there yet: words for the model of a
 * client that knows no tasks, and for clients of ours, which read them.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";

/** The server's own tools, by what they do. */
export const TASK_STATUS = "task_status";
export const TASK_CANCEL = "task_cancel";

/** The answer about a task that is none of the caller's. */
export const UNKNOWN_TASK =
  "You have no task with this ID, or its result is no longer kept. Call the tool again.";

const HANDED_OVER = "This is not the result yet.";

/** Prints the answer to a call that was handed over. */
export function printHandedOver(taskId: string, state: string): string {
  return `${HANDED_OVER} ${state} ` +
    `It goes on as a task: call ${TASK_STATUS} for the result, or ` +
    `${TASK_CANCEL} to end it, with ${JSON.stringify({ taskId })}.`;
}

/** Prints the answer to who asks for the result of a task that goes on. */
export function printStillWorking(taskId: string, state: string): string {
  return `${state} Call ${TASK_STATUS} again with ${
    JSON.stringify({ taskId })
  } for its result.`;
}

const BEGINNING = new RegExp(`^(?:Nothing has failed\\. )?${HANDED_OVER} `);
const END = new RegExp(
  `(?:It goes on as a task: )?\\bcall ${TASK_STATUS} ` +
    `(?:for the result, or ${TASK_CANCEL} to end it,|again)` +
    ' with {"taskId":"([\\w-]+)"}(?: for its result)?\\.$',
  "i",
);

/** Reads an answer that is not the result yet, as a model does. */
export function parseNotYet(
  { content }: Pick<CallToolResult, "content">,
): { taskId: string; state: string } | undefined {
  const text = content[0]?.type === "text" ? content[0].text : "";
  const found = END.exec(text);
  if (!found) return undefined;
  const state = text.slice(0, found.index).replace(BEGINNING, "").trim();
  return { taskId: found[1], state };
}
