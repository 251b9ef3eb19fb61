/**
 * Finds the tasks that a caller may see, and reports their changes to
 * subscriptions.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import { ToolError } from "../../authoring/tool.ts";
import { type Caller, mayUseAccounts } from "../../core/caller.ts";
import { checkGranted, mayBeGranted } from "../../core/mcp/exchange/check.ts";
import type { FollowedKind } from "../../core/mcp/methods/method_engine.ts";
import type { LastingCall } from "./task_engine.ts";
import { checkKnowsTasks, printTask } from "./task_answer.ts";
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
 * Calls `onState` with a task now and after every change, until the task has
 * ended.
 *
 * @param binding the issuer, resource and subject of the task's caller
 * @throws the reason of the signal, if it fires first
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

/**
 * Finds a caller's task, if the caller may be granted the scopes of its tool.
 *
 * @throws {ChallengeError} 403 if the scopes were not granted, but could be
 * @throws {ToolError} if the task uses the caller's accounts, which this access
 * token does not allow
 */
export async function findTask(
  tasks: Pick<TaskStore, "find">,
  caller: Caller,
  taskId: string,
): Promise<Task | undefined> {
  const task = await tasks.find(taskId, caller.binding);
  if (task === undefined || !mayBeGranted(caller, task.scopes)) {
    return undefined;
  }
  checkGranted(caller, task.scopes);
  if (task.needsAccounts && !mayUseAccounts(caller)) {
    throw new ToolError(
      "This access token may not act with its person's accounts, as this task does.",
    );
  }
  return task;
}

/**
 * Finds the caller's task, and records that this call's grant used it last. The
 * task ends with that grant.
 */
export async function useTask(
  { caller, engine: { tasks } }: Pick<LastingCall, "caller" | "engine">,
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
