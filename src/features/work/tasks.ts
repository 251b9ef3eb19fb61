/**
 * Tasks: records of long work that any process can read, answer and cancel. One
 * process runs the task, and has a lease on it. If the lease has lapsed, any
 * process that reads the task marks it as failed.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import { pause } from "../../core/clock.ts";
import { callRepeats } from "./call_repeats.ts";
import type { Database, Entry, Transaction } from "../../core/kv/database.ts";
import {
  repeatKey,
  taskKey,
  taskLeaseKey,
  taskRunKey,
  tasksOfKey,
} from "../../core/kv/keys.ts";
import {
  HEARTBEAT_SECONDS,
  isHeld,
  LAPSE_SECONDS,
  setLease,
  type TaskLease,
  WatchedTaskLeases,
} from "../../core/kv/leases.ts";
import { idOf, listedOf, taskBeginnings, taskLists } from "./task_list.ts";
import {
  changeTask,
  forgetAnswers,
  isTerminal,
  isToBeRenewed,
  nextUpdate,
  readTask,
  RUNNING_SECONDS,
  shortMessage,
  type Task,
  TASK_SECONDS,
  type TaskMessages,
  type TaskOfPerson,
  taskQuestions,
  type TaskRecord,
} from "./task_record.ts";
import {
  deleteText,
  renewText,
  saveText,
  TextExpiredError,
  textKeysOf,
} from "../../core/kv/texts.ts";
import { RpcCode } from "../../core/errors.ts";
import { cutOffText } from "../../core/mcp/exchange/running.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  type Claim,
  deleteRun,
  listOfWaits,
  type RunRecord,
} from "./run_record.ts";
import { stepStore } from "./steps.ts";
import { waitStore } from "../questions/waits.ts";

export type { Task };

/** Callbacks for tasks that are ended by anything but their own work. */
export interface TaskEvents {
  onCancelled?: OnCancelled;
  /** Called when a task has failed because its process died. */
  onDied?(taskId: string, record: TaskRecord): void;
}

export type TaskStore = ReturnType<typeof taskStore>;

/**
 * Opens the tasks of a database.
 *
 * @param events `lapseSeconds`: the time for which an expired lease is
 * watched before the task fails
 */
export function taskStore(
  database: Database,
  events: TaskEvents & { lapseSeconds?: number } = {},
) {
  const { lapseSeconds = LAPSE_SECONDS } = events;
  const leases = new WatchedTaskLeases(database, lapseSeconds);

  async function find(
    taskId: string,
    binding: string,
  ): Promise<Task | undefined> {
    for (;;) {
      const [task, held] = await database.getMany<[TaskRecord, TaskLease]>([
        taskKey(taskId),
        taskLeaseKey(taskId),
      ]);
      const { value: record } = task;
      if (record?.binding !== binding) return undefined;
      // Durable work does not fail: another process takes it over.
      if (isTerminal(record.status) || isHeld(held) || record.durable) {
        leases.forget(taskId);
        return await read(taskId, record);
      }
      const isWatched = leases.isWatched(taskId);
      if (!await leases.watch(taskId, held)) {
        if (!isWatched) watchLease(taskId, binding);
        return await read(taskId, record);
      }
      leases.forget(taskId);
      await fail(taskId, task, record, held);
    }
  }

  /** Fails a task, unless its process renews the lease in time. */
  async function fail(
    taskId: string,
    task: Entry<TaskRecord>,
    record: TaskRecord,
    held: Entry<TaskLease>,
  ): Promise<void> {
    const failed: TaskRecord = {
      ...record,
      status: "failed",
      updatedMilliseconds: nextUpdate(database, record),
      questions: {},
      outcome: { text: JSON.stringify(cutOff(DIED, record.ifCut)) },
    };
    const hasFailed = await database.commit((transaction) =>
      transaction.check(task, held).set(task.key, failed).delete(held.key)
    );
    if (hasFailed) events.onDied?.(taskId, failed);
  }

  /** Reads a task. Undefined if its texts have just expired. */
  async function read(
    taskId: string,
    record: TaskRecord,
  ): Promise<Task | undefined> {
    try {
      return await readTask(database, taskId, record);
    } catch (error) {
      if (!(error instanceof TextExpiredError)) throw error;
    }
  }

  /**
   * Checks a task repeatedly until its lease is renewed or the task has failed.
   */
  function watchLease(taskId: string, binding: string): void {
    database.background(async () => {
      while (leases.isWatched(taskId)) {
        await pause(HEARTBEAT_SECONDS * 1000, database.closing);
        if (database.closing.aborted) return;
        const task = await find(taskId, binding).catch(() => null);
        if (task === undefined) leases.forget(taskId);
      }
    });
  }

  return {
    ...taskBeginnings(database),
    ...callRepeats(database),
    ...taskQuestions(database),
    ...taskLists(database),
    ...taskEnds(database, (...run) => events.onCancelled?.(...run)),
    find,

    /**
     * Waits until a caller's task differs from `seen`. Undefined if the task is
     * gone.
     *
     * @throws the reason of the signal, if it fires first
     */
    async next(
      { taskId, updatedMilliseconds: seen }: Task,
      binding: string,
      signal: AbortSignal,
    ): Promise<Task | undefined> {
      for (;;) {
        // An expired lease changes no record until someone reads the task, so
        // the task is read again after a heartbeat.
        const checkMilliseconds = performance.now() + HEARTBEAT_SECONDS * 1000;
        await database.waitFor<TaskRecord>(
          taskKey(taskId),
          (record) =>
            record?.updatedMilliseconds !== seen ||
            performance.now() >= checkMilliseconds,
          signal,
        );
        const task = await find(taskId, binding);
        if (task?.updatedMilliseconds !== seen) return task;
      }
    },

    /**
     * Renews a running task's lease, and its records if they expire soon.
     * Returns false if the task has ended.
     */
    renewLease(taskId: string): Promise<boolean> {
      return database.change(
        taskKey(taskId),
        async (transaction, { key, value }: Entry<TaskRecord>) => {
          if (!value || isTerminal(value.status)) return false;
          const now = database.now();
          setLease(transaction, taskId, now);
          if (!isToBeRenewed(value, now)) return true;
          const { list, repeat, questions } = value;
          const expiresAt = now + RUNNING_SECONDS;
          for (const question of Object.values(questions)) {
            await renewText(database, question, expiresAt);
          }
          transaction.set<TaskRecord>(key, { ...value, expiresAt });
          const listed = await database.get<TaskOfPerson>(
            tasksOfKey(list, taskId),
          );
          if (listed.value) {
            transaction.check(listed)
              .set(listed.key, { ...listed.value, expiresAt });
          }
          if (repeat) transaction.set(repeatKey(repeat, taskId), { expiresAt });
          return true;
        },
      );
    },

    /**
     * Stores the messages of a task; an empty one deletes the stored message.
     */
    async setMessages(taskId: string, own: TaskMessages): Promise<void> {
      const { progress, ...messages } = own;
      const short = Object.entries(messages)
        .map(([member, message = ""]) => [member, shortMessage(message)]);
      await changeTask(database, taskId, (task) => ({
        ...Object.fromEntries(short),
        // An earlier run got at least as far, so its message is kept.
        ...progress! <= task.progress!
          ? { statusMessage: task.statusMessage }
          : { progress: progress ?? task.progress },
      }));
    },

    /** Resolves when the task has ended, whichever process ran it. */
    async ended(taskId: string, signal: AbortSignal): Promise<void> {
      await database.waitFor<TaskRecord>(
        taskKey(taskId),
        (task) => task === undefined || isTerminal(task.status),
        signal,
      );
    },
  };
}

export type TaskEnd =
  & (
    | { status: "completed" | "failed"; outcome: JsonObject }
    | { status: "cancelled" }
  )
  & {
    /** If absent, the stored message is kept. */
    statusMessage?: string;
    /** True if a person refused the call. */
    isRefused?: boolean;
    /** True if the server stops, or the permission has ended. */
    isCut?: boolean;
  };

/** The error of a task whose process is gone. */
export const DIED = {
  code: RpcCode.internalError,
  message: "The process that ran this task has stopped",
};

/** Adds the text for the model to the error of a run that was cut off. */
export function cutOff<T extends { message: string }>(error: T, more?: string) {
  return { ...error, message: cutOffText(error.message, more) };
}

type WorkRecords = Awaited<ReturnType<typeof readWork>>;

/** Called when durable work is ended by anything but its own run. */
export type OnCancelled = (taskId: string, run: RunRecord) => void;

export function taskEnds(database: Database, onCancelled?: OnCancelled) {
  /**
   * Ends a task once. Returns false if it had already ended, or if `claim` is
   * lost. Returns true if an earlier try with this claim succeeded without
   * learning so.
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
          ...taskEnd.isRefused && { isRefused: true },
          ...taskEnd.isCut && { isCut: true },
          questions: {},
          ...work && {
            expiresAt: work.expiresAt,
            durable: { ...durable!, endedBy },
          },
        };
      },
      (transaction) => {
        transaction.delete(taskLeaseKey(taskId))
          .delete(...Object.values(asked).flatMap(textKeysOf));
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
     * Finds the tasks that were last used by these grants. Returns a function
     * that ends them in the background; call it once the grants are closed.
     * Without this, each task's process would notice only within a second that
     * the grant has ended.
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
              isCut: true,
            });
          });
        }
      };
    },

    /**
     * Deletes all tasks of a person. The records by which a task is found are
     * deleted last, so that a deletion that was interrupted can be continued.
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
          // The task's process may still read the task, and then finds that it
          // has ended.
          if (found) transaction.expire(found.key);
          transaction.delete(entry.key, ...outcome ? textKeysOf(outcome) : []);
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
  if (run.value) transaction.delete(...textKeysOf(run.value.beginning));
  if (!listed.value) return;
  const { isOpen: _, ...entry } = listed.value;
  transaction.check(listed).set(listed.key, { ...entry, expiresAt });
}

/**
 * Deletes the records of ended durable work in the background. The outline of
 * its steps is kept as long as the task.
 */
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
