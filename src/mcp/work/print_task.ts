/**
 * A task as the wire has it.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { JsonObject } from "../../json.ts";
import { TASK_SECONDS } from "../../store/task_record.ts";
import type { Task } from "../../store/tasks.ts";

/** The time between a client's polls, in milliseconds. */
const POLL_MILLISECONDS = 1000;

/** Prints a task. */
export function printTask(task: Task): JsonObject {
  const { taskId, status, statusMessage, inputRequests, outcome } = task;
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: new Date(task.createdMilliseconds).toISOString(),
    lastUpdatedAt: new Date(task.updatedMilliseconds).toISOString(),
    ttlMs: TASK_SECONDS * 1000,
    pollIntervalMs: POLL_MILLISECONDS,
    ...(inputRequests && { inputRequests }),
    ...(outcome && { [status === "failed" ? "error" : "result"]: outcome }),
  };
}
