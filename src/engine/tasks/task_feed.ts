/**
 * `notifications/tasks`: what a subscription hears of its caller's tasks,
 * whichever process works on them.
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
} from "../../protocol/messages.ts";
import type { JsonObject } from "../../json.ts";
import { Meta } from "../../protocol/request_meta.ts";
import { findTask, printTask } from "./task_methods.ts";

/** Tasks one subscription may name: each is looked at again and again. */
const TASKS = 100;

/**
 * The tasks a subscription names; undefined when it wants none.
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

  /** Those of the named tasks that are the caller's. @throws as `findTask` */
  async find(taskIds: readonly string[]): Promise<Task[]> {
    const found = await Promise.all(
      taskIds.map((taskId) => findTask(this.store, this.caller, taskId)),
    );
    return found.filter((task) => task !== undefined);
  }

  /**
   * Calls `onState` with a task as it is and after every change, until it has
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

/** What `tasks/get` would answer at this moment, as a notification. */
export function taskNotification(
  task: Task,
  subscriptionId: RequestId,
): string {
  return printNotification("notifications/tasks", {
    _meta: { [Meta.subscriptionId]: subscriptionId },
    ...printTask(task),
  });
}
