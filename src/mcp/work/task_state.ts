/**
 * The ends that a task may have, and the state in which its client finds it.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { RpcCode } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import type { Logger } from "../../log/log.ts";
import { DIED, type TaskEnd } from "../../store/task_end.ts";
import { answerFailure, type Failure } from "../exchange/failure.ts";

/** The end of a task: a result or an error, and the outcome for the log. */
export type SettledTask = Pick<Failure, "outcome" | "result" | "error">;

/** The end of a task whose process stops; one that has ended stays so. */
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

export function stateOf({ result, error }: SettledTask): TaskEnd {
  return result
    ? { status: "completed", outcome: result as JsonObject }
    : { status: "failed", outcome: { ...error } };
}
