/**
 * Tasks from their client's side.
 *
 * @module
 */
import assert from "node:assert/strict";
import { resultOf } from "./answer.ts";
import type { Json } from "./message.ts";
import type { Sender } from "./server.ts";
import { until } from "./wait.ts";

/** The capabilities of a client that knows tasks. */
export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** The capabilities of a client that also answers questions. */
const capabilities = { ...TASKS, elicitation: {} };

/** Begins a task and returns its id. */
export async function beginTask(
  server: Sender,
  name: string,
  more = {},
): Promise<string> {
  const { resultType, taskId } = await resultOf(
    server.call("tools/call", { name, ...more }, { capabilities }),
  );
  assert.equal(resultType, "task");
  return taskId;
}

export function readTask(server: Sender, taskId: string): Promise<Json> {
  return resultOf(server.call("tasks/get", { taskId }, { capabilities }));
}

/** Waits for a status and returns the task that has it. */
export async function reached(
  server: Sender,
  taskId: string,
  status: string,
): Promise<Json> {
  let task: Json;
  await until(async () =>
    (task = await readTask(server, taskId)).status === status
  );
  return task;
}
