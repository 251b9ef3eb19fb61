/**
 * The tasks extension: a tool's work goes on after its request was answered,
 * and the client can ask any process for its status.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { McpClient } from "../../authoring/context.ts";
import { RpcCode, RpcError } from "../../errors.ts";
import { isObject, type JsonObject } from "../../json.ts";
import type { Task } from "../../store/tasks.ts";
import { TASKS_EXTENSION } from "../catalogue/introduction.ts";
import type { Call } from "./call.ts";

const REQUIRED = { extensions: { [TASKS_EXTENSION]: {} } };

/** True if the client declared the extension on this request. */
export function knowsTasks(
  { capabilities: { extensions } }: McpClient,
): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** True if a call may be answered with a task. */
export function hasTasks(
  { stateless, client }: Pick<Call, "stateless" | "client">,
): boolean {
  return stateless && knowsTasks(client);
}

/** @throws {RpcError} -32021 on HTTP 400 unless the client declared tasks */
export function checkKnowsTasks(client: McpClient): void {
  if (knowsTasks(client)) return;
  throw new RpcError(
    RpcCode.missingCapability,
    "The client does not support tasks",
    { status: 400, data: { requiredCapabilities: REQUIRED } },
  );
}

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

/** Prints a task. @param now epoch milliseconds */
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
