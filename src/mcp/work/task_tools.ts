/**
 * The server's own tools: a client that knows no tasks asks with them for a
 * call that was handed over.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isTerminal } from "../../store/task_record.ts";
import { TASK_CANCEL, TASK_STATUS } from "../catalogue/task_tools.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import { argumentsOf } from "../wire/arguments.ts";
import { errorResult, resultOf } from "../wire/tool_result.ts";
import { useTask } from "./task_methods.ts";
import { TaskRelay } from "./task_relay.ts";
import { waitForTask } from "./task_wait.ts";
import {
  resultOfTask,
  stillWorking,
  unknownTask,
} from "../exchange/task_words.ts";

/** The time that `task_status` waits, so that a model asks rarely. */
const PATIENCE_MILLISECONDS = 25_000;

type Act = (call: Call, taskId: string) => Promise<CallToolResult>;

const ACTS: Readonly<Record<string, Act>> = {
  [TASK_STATUS]: tellStatus,
  [TASK_CANCEL]: cancel,
};

/** Calls one of the server's own tools. */
export async function callTaskTool(call: Call, name: string): Promise<Answer> {
  const { taskId } = argumentsOf(call.params);
  const result = typeof taskId === "string"
    ? await ACTS[name](call, taskId)
    : errorResult("taskId must be a string: the ID of a task.");
  return { result: call.introduction.printer.result(result) };
}

async function tellStatus(
  call: Call,
  taskId: string,
): Promise<CallToolResult> {
  const task = await useTask(call, taskId);
  if (task === undefined) return unknownTask();
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
  call: Call,
  taskId: string,
): Promise<CallToolResult> {
  const task = await useTask(call, taskId);
  if (task === undefined) return unknownTask();
  const { tasks } = call.engine;
  return await tasks.end(taskId, { status: "cancelled" })
    ? resultOf("The task is cancelled.")
    : resultOf(`The task had ended before: ${TASK_STATUS} gives its result.`);
}
