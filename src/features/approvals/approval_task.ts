/**
 * Approvals that a plain task waits for, and runs whose end is not known. A
 * task may have ended in another process. Durable work (with a `taskAddress`)
 * ends its approvals itself.
 *
 * @module
 */
import { ToolError } from "../../authoring/tool.ts";
import type { Database, Expiring, Write } from "../../core/kv/database.ts";
import {
  taskKey,
  taskLeaseKey,
  taskRunKey,
  waitOfAskerKey,
} from "../../core/kv/keys.ts";
import { isHeld, type TaskLease } from "../../core/kv/leases.ts";
import {
  isOpenRun,
  type Pointer,
  type WaitRecord,
} from "../questions/wait_record.ts";
import type { Wait, Waiting, WaitStore } from "../questions/waits.ts";
import { TASK_ENDED } from "./approval_content.ts";
import type { CallApproval } from "./call_approval.ts";
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

/**
 * The state of a plain task that asked for an approval. `unheld`: its process
 * has not renewed the task's lease.
 */
export type AskingTaskState = "ended" | "unheld" | "runs";

/** Undefined if a call or durable work has asked. */
export async function stateOfAskingTask(
  database: Database,
  wait: OfTask,
): Promise<AskingTaskState | undefined> {
  const task = await findTask(database, wait);
  if (!task) return task === false ? "ended" : undefined;
  const lease = await database.get<TaskLease>(taskLeaseKey(wait.pageTask!));
  return isHeld(lease) ? "runs" : "unheld";
}

export async function hasTaskEnded(
  database: Database,
  wait: OfTask,
): Promise<boolean> {
  return await findTask(database, wait) === false;
}

/**
 * Makes the writes about a task for the commit that begins the task's approved
 * run. The commit fails if the task has ended by then.
 *
 * @param ifCut the text for the model if the run of a plain task is cut off
 * @throws {ToolError} if the task has ended
 */
export async function taskBeginning(
  database: Database,
  wait: OfTask,
  ifCut: string,
): Promise<Write> {
  const { pageTask, taskAddress } = wait;
  if (pageTask && taskAddress !== undefined) {
    const run = await database.find<Expiring>(taskRunKey(pageTask));
    if (!run) throw new ToolError(TASK_ENDED);
    return (transaction) => transaction.check(run);
  }
  const task = await findTask(database, wait);
  if (task === false) throw new ToolError(TASK_ENDED);
  return (transaction) =>
    task && transaction.check(task).set(task.key, { ...task.value, ifCut });
}

/** The seconds after which a run without a known end is listed. */
const LOOK_SECONDS = 5 * 60;

/**
 * True if the run of a call or of a plain task should have ended by now, and
 * its end is not known.
 */
export function isToBeLookedAt(
  wait: Pick<WaitRecord, "state" | "taskAddress" | "approval">,
  now: number,
): boolean {
  return isOpenRun(wait) && wait.taskAddress === undefined &&
    (wait.approval?.begunAt ?? 0) + LOOK_SECONDS <= now;
}

/**
 * Finds the last approved run of a tool with the same arguments, whether a task
 * or a call without one asked for it.
 */
export function approvedRuns(
  waits: WaitStore,
  approvalOf: (wait: Wait | undefined) => CallApproval | undefined,
) {
  const findLastRun = async (
    { runs: asker, subject }: Pick<Waiting, "runs" | "subject">,
  ) =>
    asker === undefined
      ? undefined
      : approvalOf(await waits.findByAsker({ asker, subject }));

  return {
    findLastRun,

    /**
     * Finds the last run only if its end is not known, or if its result was not
     * fetched.
     */
    findOpenRun: async ({ runs: asker, ...it }: Waiting) =>
      asker === undefined ? undefined : approvalOf(
        // `findSame` finds such a run, or else a wait with the same question.
        // No question is empty.
        await waits.findSame({ ...it, asker, question: "" }),
      ),

    /** Finds the last run of the same call, if another approval began it. */
    async findOtherRun(
      approval: CallApproval,
    ): Promise<CallApproval | undefined> {
      const run = await findLastRun(approval);
      return run?.id === approval.id ? undefined : run;
    },
  };
}

/**
 * Makes the write by which `findLastRun` finds a run that begins. Undefined if
 * the end of another approval's run of the same call is not known.
 */
export async function lastRun(
  database: Database,
  { key, runs }: Pick<Wait, "key" | "runs">,
  expiresAt: number,
): Promise<Write | undefined> {
  if (runs === undefined) return () => {};
  const pointer = await database.get<Pointer>(waitOfAskerKey(runs));
  const last = pointer.value &&
    await database.find<WaitRecord>(pointer.value.wait);
  if (last && isOpenRun(last.value) && String(last.key) !== String(key)) {
    return undefined;
  }
  return (transaction) => {
    transaction.check(pointer);
    transaction.set<Pointer>(pointer.key, { wait: key, expiresAt });
  };
}
