/**
 * The methods of the tasks extension: `tasks/get`, `tasks/update`,
 * `tasks/cancel`. Also the built-in tools by which clients without the
 * extension get the result of a task.
 *
 * @module
 */
import type { Task } from "./tasks.ts";
import { useTask } from "./task_following.ts";
import type { Answer } from "../../core/mcp/exchange/answer.ts";
import type { LastingCall } from "./task_engine.ts";
import {
  checkKnowsTasks,
  printTask,
  resultOfTask,
  stillWorkingResult,
  unknownTaskResult,
} from "./task_answer.ts";
import {
  argumentsOf,
  invalidParams,
  quoted,
} from "../../core/protocol/messages.ts";
import { isObject } from "../../core/json.ts";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isTerminal } from "./task_record.ts";
import { TASK_CANCEL, TASK_STATUS } from "../../core/protocol/not_yet.ts";
import { errorResult, resultOf } from "../../core/protocol/results.ts";
import { TaskRelay, waitForTask } from "./task_wait.ts";

export async function getTask(call: LastingCall): Promise<Answer> {
  const task = printTask(await findOwnTask(call), call.engine.clock());
  return { result: call.printedLists.printer.result(task) };
}

export async function updateTask(call: LastingCall): Promise<Answer> {
  const { engine, params: { inputResponses }, printedLists } = call;
  const { taskId } = await findOwnTask(call);
  if (!isObject(inputResponses)) {
    throw invalidParams(
      `inputResponses must be an object, not ${quoted(inputResponses)}`,
    );
  }
  for (const [key, response] of Object.entries(inputResponses)) {
    if (isObject(response)) continue;
    throw invalidParams(
      `inputResponses: ${quoted(key)} must be an object, not ${
        quoted(response)
      }`,
    );
  }
  await engine.tasks.answer(taskId, inputResponses);
  return { result: printedLists.printer.result({}) };
}

/**
 * Answers `tasks/cancel`. The process that runs the task notices within a
 * second.
 */
export async function cancelTask(call: LastingCall): Promise<Answer> {
  const { taskId } = await findOwnTask(call);
  await call.engine.tasks.end(taskId, { status: "cancelled" });
  return { result: call.printedLists.printer.result({}) };
}

/** Finds the task that a request names, if it is the caller's. */
async function findOwnTask(call: LastingCall): Promise<Task> {
  checkKnowsTasks(call.client);
  const { taskId } = call.params;
  if (typeof taskId !== "string") {
    throw invalidParams(`taskId must be a string, not ${quoted(taskId)}`);
  }
  const task = await useTask(call, taskId);
  if (task === undefined) {
    throw invalidParams(`Unknown task: ${quoted(taskId)}`);
  }
  return task;
}

/**
 * The maximum time for which `task_status` waits for a change, because models
 * poll rarely.
 */
const PATIENCE_MILLISECONDS = 25_000;

/** Answers a call of one of the built-in tools. */
export async function callTaskTool(
  call: LastingCall,
  name: string,
): Promise<Answer> {
  const result = await resultOfTaskTool(call, name);
  return { result: call.printedLists.printer.result(result) };
}

async function resultOfTaskTool(
  call: LastingCall,
  name: string,
): Promise<CallToolResult> {
  const { taskId } = argumentsOf(call.params);
  if (typeof taskId !== "string") {
    return errorResult("taskId must be a string: the ID of a task.");
  }
  const task = await useTask(call, taskId);
  if (!task) return unknownTaskResult();
  return await (name === TASK_CANCEL ? cancel : reportStatus)(call, task);
}

async function reportStatus(
  call: LastingCall,
  task: Task,
): Promise<CallToolResult> {
  const seen = await waitForTask(call, task, {
    untilMilliseconds: call.startedMilliseconds + PATIENCE_MILLISECONDS,
    relay: new TaskRelay(call, PATIENCE_MILLISECONDS),
  });
  if (seen === undefined) return unknownTaskResult();
  return isTerminal(seen.status)
    ? resultOfTask(seen, call)
    : stillWorkingResult(seen, call);
}

async function cancel(
  { engine: { tasks } }: LastingCall,
  { taskId }: Task,
): Promise<CallToolResult> {
  return await tasks.end(taskId, { status: "cancelled" })
    ? resultOf("The task is cancelled.")
    : resultOf(`The task had ended before: ${TASK_STATUS} gives its result.`);
}
