/**
 * The server's own tools: a client that knows no tasks asks with them for a
 * call that was handed over.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isTerminal, type Task } from "../../store/task_record.ts";
import { TASK_CANCEL, TASK_STATUS } from "../catalogue/compiled_tool.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import { argumentsOf } from "../wire/messages.ts";
import { errorResult, resultOf } from "../wire/tool_result.ts";
import { useTask } from "./task_methods.ts";
import { TaskRelay, waitForTask } from "./task_wait.ts";
import {
  resultOfTask,
  stillWorking,
  unknownTask,
} from "../exchange/task_answer.ts";

/** The time that `task_status` waits, so that a model asks rarely. */
const PATIENCE_MILLISECONDS = 25_000;

type Act = (call: Call, task: Task) => Promise<CallToolResult>;

const ACTS: Readonly<Record<string, Act>> = {
  [TASK_STATUS]: tellStatus,
  [TASK_CANCEL]: cancel,
};

export async function callTaskTool(call: Call, name: string): Promise<Answer> {
  const result = await resultOfAct(call, ACTS[name]);
  return { result: call.introduction.printer.result(result) };
}

async function resultOfAct(call: Call, act: Act): Promise<CallToolResult> {
  const { taskId } = argumentsOf(call.params);
  if (typeof taskId !== "string") {
    return errorResult("taskId must be a string: the ID of a task.");
  }
  const task = await useTask(call, taskId);
  return task ? await act(call, task) : unknownTask();
}

async function tellStatus(call: Call, task: Task): Promise<CallToolResult> {
  const seen = await waitForTask(call, task, {
    untilMilliseconds: call.startedMilliseconds + PATIENCE_MILLISECONDS,
    relay: new TaskRelay(call, PATIENCE_MILLISECONDS),
  });
  if (seen === undefined) return unknownTask();
  return isTerminal(seen.status)
    ? resultOfTask(seen, call)
    : stillWorking(seen);
}

async function cancel(
  { engine: { tasks } }: Call,
  { taskId }: Task,
): Promise<CallToolResult> {
  return await tasks.end(taskId, { status: "cancelled" })
    ? resultOf("The task is cancelled.")
    : resultOf(`The task had ended before: ${TASK_STATUS} gives its result.`);
}
