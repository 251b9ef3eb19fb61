/**
 * The tasks extension: a tool's work goes on after its request was answered,
 * and the client can ask any process for its status.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { Caller } from "../../caller.ts";
import { RpcCode, RpcError } from "../../errors.ts";
import type { Task, TaskStore } from "../../store/tasks.ts";
import type { McpClient } from "../../authoring/context.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import { checkGranted, isWithinReach } from "../exchange/check.ts";
import { invalidParams } from "../wire/messages.ts";
import { isObject } from "../../json.ts";
import { printTask } from "./task_state.ts";

/** The name of the extension in capabilities. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

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

/** Answers `tasks/get`. */
export async function getTask(call: Call): Promise<Answer> {
  const { introduction: { printer } } = call;
  return {
    result: printer.result(
      printTask(await findOwnTask(call), call.engine.clock()),
    ),
  };
}

/** Answers `tasks/update`. */
export async function updateTask(call: Call): Promise<Answer> {
  const { engine, params: { inputResponses }, introduction } = call;
  const { taskId } = await findOwnTask(call);
  if (!isObject(inputResponses)) {
    throw invalidParams("inputResponses must be an object");
  }
  if (!Object.values(inputResponses).every(isObject)) {
    throw invalidParams("Each of inputResponses must be an object");
  }
  await engine.tasks.answer(taskId, inputResponses);
  return { result: introduction.printer.result({}) };
}

/** Answers `tasks/cancel`: the process that works on the task notices soon. */
export async function cancelTask(call: Call): Promise<Answer> {
  const { taskId } = await findOwnTask(call);
  await call.engine.tasks.end(taskId, { status: "cancelled" });
  return { result: call.introduction.printer.result({}) };
}

/**
 * Finds a caller's task, if they could be granted the scopes of its tool.
 *
 * @throws {import("../../errors.ts").ChallengeError} 403 when the scopes were
 * not granted, but could be
 */
export async function findTask(
  tasks: Pick<TaskStore, "find">,
  caller: Caller,
  taskId: string,
): Promise<Task | undefined> {
  const task = await tasks.find(taskId, caller.binding);
  if (task === undefined || !isWithinReach(caller, task.scopes)) {
    return undefined;
  }
  checkGranted(caller, task.scopes);
  return task;
}

/** Finds the caller's task that a request names. */
async function findOwnTask(call: Call): Promise<Task> {
  checkKnowsTasks(call.client);
  const { taskId } = call.params;
  if (typeof taskId !== "string") {
    throw invalidParams("taskId must be a string");
  }
  const task = await useTask(call, taskId);
  if (task === undefined) throw invalidParams("Unknown task");
  return task;
}

/** Finds the caller's task, which from now on goes on with their grant. */
export async function useTask(
  { caller, engine: { tasks } }: Pick<Call, "caller" | "engine">,
  taskId: string,
): Promise<Task | undefined> {
  const reading = caller.grantId === undefined
    ? undefined
    : tasks.readUse(taskId, caller);
  reading?.catch(() => {});
  const task = await findTask(tasks, caller, taskId);
  if (task && reading) await tasks.use(taskId, caller, reading);
  return task;
}
