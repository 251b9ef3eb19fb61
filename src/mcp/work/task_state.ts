/**
 * The state of a task for its client, and the ends that there are.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { RpcCode } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import type { Logger } from "../../log/log.ts";
import { DIED, type TaskEnd } from "../../store/task_end.ts";
import type { Task } from "../../store/task_record.ts";
import { answerFailure, type Failure } from "../exchange/failure.ts";

/**
 * The time between a client's polls by the time since the last change, in
 * seconds: what has been quiet for long will be for a while.
 */
const POLLS: readonly (readonly [quiet: number, poll: number])[] = [
  [600, 30],
  [120, 15],
  [30, 5],
  [10, 2],
];

function pollSeconds({ updatedMilliseconds }: Task, now: number): number {
  const quiet = (now - updatedMilliseconds) / 1000;
  return POLLS.find(([least]) => quiet >= least)?.[1] ?? 1;
}

/**
 * Prints a task.
 *
 * @param now epoch milliseconds
 */
export function printTask(task: Task, now: number): JsonObject {
  const { taskId, status, statusMessage, inputRequests, outcome } = task;
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: new Date(task.createdMilliseconds).toISOString(),
    lastUpdatedAt: new Date(task.updatedMilliseconds).toISOString(),
    ttlMs: (task.expiresAt - Math.floor(task.createdMilliseconds / 1000)) *
      1000,
    pollIntervalMs: pollSeconds(task, now) * 1000,
    ...(inputRequests && { inputRequests }),
    ...(outcome && { [status === "failed" ? "error" : "result"]: outcome }),
  };
}

/** The end of a task: a result or an error, and the outcome for the log. */
export type SettledTask = Pick<Failure, "outcome" | "result" | "error">;

/**
 * The end of a task whose process stops; a task that has ended stays as it is.
 */
export const STOPPED: SettledTask = { outcome: "stopped", error: DIED };

/** The end of a task that its client has already ended. */
export const CANCELLED: SettledTask = { ...STOPPED, outcome: "cancelled" };

/** The end of a task whose grant has ended. */
export const EXPELLED: SettledTask = {
  outcome: "stopped",
  error: {
    code: RpcCode.internalError,
    message: "The permission for this task has ended, or is paused",
  },
};

/** Makes the end of a task whose tool has given its result. */
export function endingOf(result: CallToolResult): SettledTask {
  return { result, outcome: result.isError ? "tool_error" : "ok" };
}

/** Makes the end of a task of what was thrown in it. Never throws. */
export function failedEnding(
  thrown: unknown,
  taskId: string,
  log: Logger,
): SettledTask {
  const failing = { log, reference: taskId, isTool: true, inBand: true };
  return answerFailure(thrown, failing, (failure) => failure);
}

/** Makes the state in which the client finds a task that has ended. */
export function stateOf({ result, error }: SettledTask): TaskEnd {
  return result
    ? { status: "completed", outcome: result as JsonObject }
    : { status: "failed", outcome: { ...error } };
}
