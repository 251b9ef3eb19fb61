/**
 * Approvals that a plain task waits for, and runs whose end is not known. A
 * task may have ended in another process. Durable work (with a `taskAddress`)
 * ends its approvals itself.
 *
 * @module
 */
import { ToolError } from "../../authoring/tool.ts";
import type { Database, Write } from "../../core/kv/database.ts";
import { taskKey } from "../../core/kv/keys.ts";
import type { WaitRecord } from "../questions/wait_record.ts";
import { isTerminal, type TaskRecord } from "../work/task_record.ts";

type OfTask = Pick<WaitRecord, "pageTask" | "taskAddress">;

/**
 * Finds the task of a wait. False if the task has ended, undefined if no plain
 * task waits.
 */
async function findTask(
  database: Database,
  { pageTask, taskAddress }: OfTask,
) {
  if (!pageTask || taskAddress !== undefined) return undefined;
  const found = await database.find<TaskRecord>(taskKey(pageTask));
  return found !== undefined && !isTerminal(found.value.status) && found;
}

export async function hasTaskEnded(
  database: Database,
  wait: OfTask,
): Promise<boolean> {
  return await findTask(database, wait) === false;
}

/**
 * Makes the commit check that the task has not ended.
 *
 * @throws {ToolError} if it has ended
 */
export async function taskCheck(
  database: Database,
  wait: OfTask,
): Promise<Write> {
  const task = await findTask(database, wait);
  if (task !== false) return (transaction) => task && transaction.check(task);
  throw new ToolError("The task has ended, and nothing was run.");
}

/** The seconds after which a run without a known end is listed. */
const LOOK_SECONDS = 5 * 60;

/**
 * True if the run of a call or of a plain task should have ended by now, and
 * its end is not known.
 */
export function isToBeLookedAt(
  { state, taskAddress, approval: { begunAt = 0, endedAt } = { seconds: 0 } }:
    Pick<WaitRecord, "state" | "taskAddress" | "approval">,
  now: number,
): boolean {
  return state === "used" && endedAt === undefined &&
    taskAddress === undefined && begunAt + LOOK_SECONDS <= now;
}
