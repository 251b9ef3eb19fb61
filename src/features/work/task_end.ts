/**
 * The end of a task, and of the records of its work.
 *
 * @module
 */
import { RpcCode } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Database, Transaction } from "../../core/kv/database.ts";
import {
  repeatKey,
  taskKey,
  taskLeaseKey,
  taskRunKey,
  tasksOfKey,
} from "../../core/kv/keys.ts";
import {
  type Claim,
  deleteRun,
  listOfWaits,
  type RunRecord,
} from "./run_record.ts";
import { stepStore } from "./steps.ts";
import { idOf, listedOf } from "./task_list.ts";
import {
  changeTask,
  shortMessage,
  TASK_SECONDS,
  type TaskOfPerson,
  type TaskRecord,
} from "./task_record.ts";
import { forgetAnswers } from "./task_questions.ts";
import { deleteText, keysOf, saveText } from "../../core/kv/texts.ts";
import { waitStore } from "../questions/waits.ts";

export type TaskEnd =
  & (
    | { status: "completed" | "failed"; outcome: JsonObject }
    | { status: "cancelled" }
  )
  & {
    /** The last status message; if it is absent, the stored one stays. */
    statusMessage?: string;
  };

/** The error of a task whose process is gone. */
export const DIED = {
  code: RpcCode.internalError,
  message: "The process that ran this task has stopped",
};

/** The run and the list entry of durable work, and its new `expiresAt`. */
type WorkRecords = Awaited<ReturnType<typeof readWork>>;

/** Called for durable work that ended other than by its own run. */
export type OnCancelled = (taskId: string, run: RunRecord) => void;

export function taskEnds(database: Database, onCancelled?: OnCancelled) {
  /**
   * Ends a task, once. Returns false when it had ended already, or when `claim`
   * is lost. True also if this claim has ended it before: the answer of that
   * commit was lost.
   *
   * @param claim the claim of a durable run that ends its own task
   */
  async function end(
    taskId: string,
    taskEnd: TaskEnd,
    claim?: Claim,
  ): Promise<boolean> {
    const { status } = taskEnd;
    const keep = claim?.run.keep ?? TASK_SECONDS;
    const outcome = "outcome" in taskEnd
      ? await saveText(database, JSON.stringify(taskEnd.outcome), {
        expiresAt: database.now() + keep,
      })
      : undefined;
    let work: WorkRecords | undefined;
    let asked: TaskRecord["questions"] = {};
    const endedBy = claim?.term.versionstamp ?? undefined;
    const isEnded = await changeTask(
      database,
      taskId,
      async ({ durable, statusMessage, questions, list }) => {
        asked = questions;
        work = durable &&
          await readWork(database, taskId, { ...durable, list });
        if (claim && work?.run.versionstamp !== endedBy) return undefined;
        return {
          status,
          statusMessage: taskEnd.statusMessage === undefined
            ? statusMessage
            : shortMessage(taskEnd.statusMessage),
          outcome,
          // A tool says in its result that it has failed.
          ...taskEnd.status === "completed" &&
            taskEnd.outcome.isError === true &&
            { isError: true },
          questions: {},
          ...work && {
            expiresAt: work.expiresAt,
            durable: { ...durable!, endedBy },
          },
        };
      },
      (transaction) => {
        transaction.delete(taskLeaseKey(taskId))
          .delete(...Object.values(asked).flatMap(keysOf));
        if (work) endWork(transaction, taskId, work, claim);
      },
    );
    if (isEnded) {
      const run = work?.run.value;
      if (run && !claim) onCancelled?.(taskId, run);
      if (work) forgetWork(database, taskId, run, work.expiresAt);
      return true;
    }
    if (outcome) await deleteText(database, outcome);
    if (!claim) return false;
    const ended = await database.find<TaskRecord>(taskKey(taskId));
    if (ended?.value.durable?.endedBy !== endedBy) return false;
    forgetWork(database, taskId, claim.run, ended!.value.expiresAt);
    return true;
  }

  return {
    end,

    /**
     * Finds every task that one of these grants used last, and returns a
     * function that ends them, in the background, once the grants are closed.
     * If it does not get that far, the process that works on a task notices
     * within a second that its grant has ended, and ends it too.
     */
    async cancelAllOf(
      binding: string,
      grantIds: ReadonlySet<string | undefined>,
    ): Promise<() => void> {
      const listed = await listedOf(database, binding);
      const used = listed.filter(({ value }) => grantIds.has(value.grantId));
      return () => {
        for (const entry of used) {
          database.background(async () => {
            await end(idOf(entry), {
              status: "cancelled",
              statusMessage: "The connection has ended",
            });
          });
        }
      };
    },

    /**
     * Ends the tasks of a person, and deletes them with their results. A task, its
     * result and its place in the list go last: what is left by a process that
     * dies on the way is found again by them.
     */
    async forgetAllOf(binding: string): Promise<void> {
      for (const entry of await listedOf(database, binding)) {
        const taskId = idOf(entry);
        await end(taskId, { status: "cancelled" });
        const found = await database.find<TaskRecord>(taskKey(taskId));
        if (found?.value.durable) await stepStore(database).forget(taskId);
        await forgetAnswers(database, taskId);
        const outcome = found?.value.outcome;
        await database.commit((transaction) => {
          // Its process may still read the task, and then finds that it is
          // over.
          if (found) transaction.expire(found.key);
          transaction.delete(entry.key, ...outcome ? keysOf(outcome) : []);
          const repeat = found?.value.repeat;
          if (repeat) transaction.delete(repeatKey(repeat, taskId));
        });
      }
    },
  };
}

async function readWork(
  database: Database,
  taskId: string,
  { keep, list }: { keep: number; list: string },
) {
  const [run, listed] = await database.getMany<[RunRecord, TaskOfPerson]>([
    taskRunKey(taskId),
    tasksOfKey(list, taskId),
  ]);
  return { run, listed, expiresAt: database.now() + keep };
}

function endWork(
  transaction: Transaction,
  taskId: string,
  { run, listed, expiresAt }: WorkRecords,
  claim: Claim | undefined,
): void {
  deleteRun(transaction, taskId, claim);
  if (run.value) transaction.delete(...keysOf(run.value.beginning));
  if (!listed.value) return;
  const { isOpen: _, ...entry } = listed.value;
  transaction.check(listed).set(listed.key, { ...entry, expiresAt });
}

/** Deletes, in the background, what durable work that has ended had stored. */
function forgetWork(
  database: Database,
  taskId: string,
  run: RunRecord | undefined,
  expiresAt: number,
): void {
  database.background(async () => {
    await stepStore(database).settle(taskId, expiresAt);
    await forgetAnswers(database, taskId);
    if (!run) return;
    await waitStore(database).forgetTask(listOfWaits(run), taskId);
  });
}
