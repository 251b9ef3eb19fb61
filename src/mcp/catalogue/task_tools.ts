/**
 * The two tools of the server itself: a client that knows no tasks asks with
 * them for a call that was handed over.
 *
 * @module
 */
import type { Tool } from "../../authoring/tool.ts";
import { type ListedTool, withSecuritySchemes } from "./descriptions.ts";

const ARGUMENTS = {
  type: "object",
  properties: {
    taskId: { type: "string", description: "The ID of the task." },
  },
  required: ["taskId"],
  additionalProperties: false,
};

/** The server's own tools, by what they do. */
export const TASK_STATUS = "task_status";
export const TASK_CANCEL = "task_cancel";

const LISTED: readonly ListedTool[] = [
  {
    name: TASK_STATUS,
    title: "Task status",
    description:
      "Gives the result of a tool call that was answered with a task ID, " +
      "because it took long. Waits a while for the end of the task; if it " +
      "still works then, says how far it is: call this tool again.",
    inputSchema: ARGUMENTS,
    annotations: {
      readOnlyHint: true,
      destructiveHint: false,
      openWorldHint: false,
    },
  },
  {
    name: TASK_CANCEL,
    title: "Cancel a task",
    description: "Ends a tool call that was answered with a task ID, and " +
      "whose result is no longer wanted.",
    inputSchema: ARGUMENTS,
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      openWorldHint: false,
    },
  },
];

/** The names of {@linkcode LISTED}. */
export const TASK_TOOLS: ReadonlySet<string> = new Set(
  LISTED.map(({ name }) => name),
);

/** Lists the server's own tools. */
export function listTaskTools(
  { anonymous }: { anonymous: boolean },
): readonly ListedTool[] {
  return anonymous ? LISTED.map((tool) => withSecuritySchemes(tool)) : LISTED;
}

/** True if a call of the tool may be handed over. */
export function mayOutlast(
  { handOverMilliseconds }: { handOverMilliseconds: number },
): boolean {
  return handOverMilliseconds > 0;
}

/** True if the tool's work is always that of a task. */
export function isAlwaysTask({ task }: Pick<Tool, "task">): boolean {
  return task !== undefined && task !== "optional";
}
