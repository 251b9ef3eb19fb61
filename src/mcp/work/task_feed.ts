/**
 * `notifications/tasks`: the changes of its caller's tasks that a subscription
 * hears of, made in any process.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks, Task Status Notifications
 */
import { isTerminal } from "../../store/task_record.ts";
import type { Caller } from "../../caller.ts";
import type { Task, TaskStore } from "../../store/tasks.ts";
import {
  invalidParams,
  printNotification,
  type RequestId,
} from "../wire/messages.ts";
import type { JsonObject } from "../../json.ts";
import { Meta } from "../wire/request_meta.ts";
import { printTask } from "../exchange/task_answer.ts";
import { findTask } from "./task_methods.ts";

/** The most tasks that one subscription may name: each is polled. */
const TASKS = 100;

/**
 * Parses the tasks that a subscription names; undefined if it wants none.
 *
 * @throws {import("../../errors.ts").RpcError} -32602 when they are malformed
 */
export function parseTaskIds({ taskIds }: JsonObject): string[] | undefined {
  if (taskIds === undefined) return undefined;
  if (
    !Array.isArray(taskIds) || !taskIds.every((id) => typeof id === "string")
  ) {
    throw invalidParams("taskIds must be an array of strings");
  }
  if (taskIds.length > TASKS) {
    throw invalidParams(`taskIds must have at most ${TASKS} items`);
  }
  return [...new Set(taskIds)];
}

/** A caller's tasks, read and followed. */
export class TaskFeed {
  constructor(
    private readonly store: TaskStore,
    private readonly caller: Caller,
  ) {}

  /**
   * Finds those of the named tasks that belong to the caller. @throws as
   * `findTask`
   */
  async find(taskIds: readonly string[]): Promise<Task[]> {
    const found = await Promise.all(
      taskIds.map((taskId) => findTask(this.store, this.caller, taskId)),
    );
    return found.filter((task) => task !== undefined);
  }

  /**
   * Calls `onState` with the task now and after every change, until it has
   * ended.
   *
   * @throws the signal's reason when it fires first
   */
  async follow(
    task: Task,
    onState: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { binding } = this.caller;
    let state: Task | undefined = task;
    while (state) {
      onState(state);
      if (isTerminal(state.status)) return;
      state = await this.store.next(state, binding, signal);
    }
  }
}

/** Prints the present answer of `tasks/get` as a notification. */
export function taskNotification(
  task: Task,
  subscriptionId: RequestId,
  now: number,
): string {
  return printNotification("notifications/tasks", {
    _meta: { [Meta.subscriptionId]: subscriptionId },
    ...printTask(task, now),
  });
}
