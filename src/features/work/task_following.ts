/**
 * The tasks that a subscription follows: it is told every state of them.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { FollowedKind } from "../../core/mcp/methods/method_engine.ts";
import type { LastingCall } from "./task_engine.ts";
import { checkKnowsTasks, printTask } from "./task_answer.ts";
import { findTask } from "./task_methods.ts";
import { isTerminal } from "./task_record.ts";
import type { Task, TaskStore } from "./tasks.ts";

const MAX_TASKS = 100;

export const followedTasks: FollowedKind = {
  member: "taskIds",
  most: MAX_TASKS,
  check: ({ client }) => checkKnowsTasks(client),
  async follow(call, taskIds) {
    const { engine: { tasks, clock, log }, caller, signal } =
      call as LastingCall;
    const named = await Promise.all(
      taskIds.map((taskId) => findTask(tasks, caller, taskId)),
    );
    const own = named.filter((task) => task !== undefined);
    return {
      names: own.map(({ taskId }) => taskId),
      begin(tell, fail) {
        for (const task of own) {
          const onState = (task: Task) =>
            tell("notifications/tasks", printTask(task, clock()));
          followTask(tasks, caller.binding, task, onState, signal).catch(
            (error) => {
              if (signal.aborted) return;
              log.warning("A task could not be followed", { error });
              fail("a task could not be followed");
            },
          );
        }
      },
    };
  },
};

/**
 * Calls `onState` with a task now and after every change, until it has ended.
 *
 * @param binding the binding of the task's caller
 * @throws the signal's reason when it fires first
 */
export async function followTask(
  tasks: TaskStore,
  binding: string,
  task: Task,
  onState: (task: Task) => void,
  signal: AbortSignal,
): Promise<void> {
  let state: Task | undefined = task;
  while (state) {
    onState(state);
    if (isTerminal(state.status)) return;
    state = await tasks.next(state, binding, signal);
  }
}
