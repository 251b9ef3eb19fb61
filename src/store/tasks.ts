/**
 * Tasks: long work as records that any process can read, answer and cancel.
 * One process works on a task and says so with a lease; when the lease lapses,
 * whoever looks at the task declares it failed.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import { isBoundTo } from "../auth/rules/former_subject.ts";
import { pause } from "../clock.ts";
import type { Database, Entry, Expiring } from "./database.ts";
import { taskKey, taskLeaseKey } from "./keys.ts";
import {
  CONFIRM_SECONDS,
  HEARTBEAT_SECONDS,
  Lapses,
  setLease,
} from "./leases.ts";
import { taskBeginnings } from "./task_beginning.ts";
import { DIED, type TaskEnd, taskEnds } from "./task_end.ts";
import { taskLists } from "./task_list.ts";
import { taskQuestions } from "./task_questions.ts";
import {
  changeTask,
  isTerminal,
  nextUpdate,
  readTask,
  shortMessage,
  type Task,
  type TaskRecord,
} from "./task_record.ts";
import { TextExpiredError } from "./texts.ts";

export type { Task, TaskEnd };

export type TaskStore = ReturnType<typeof taskStore>;

/**
 * Opens the tasks of a database.
 *
 * @param options `confirmSeconds`: the time for which an expired lease is
 * watched before its task fails
 */
export function taskStore(
  database: Database,
  { confirmSeconds = CONFIRM_SECONDS } = {},
) {
  const reader = new TaskReader(database, confirmSeconds);
  const find = reader.find.bind(reader);
  return {
    ...taskBeginnings(database),
    ...taskQuestions(database),
    ...taskLists(database),
    ...taskEnds(database),
    find,

    /**
     * Waits until a caller's task differs from the one `seen`; undefined if it
     * is gone.
     *
     * @throws the signal's reason when it fires first
     */
    async next(
      { taskId, updatedMilliseconds: seen }: Task,
      binding: string,
      signal: AbortSignal,
    ): Promise<Task | undefined> {
      for (;;) {
        // An expired lease changes no record until the task is read.
        const lookMilliseconds = database.clock() + HEARTBEAT_SECONDS * 1000;
        await database.waitFor<TaskRecord>(
          taskKey(taskId),
          (record) =>
            record?.updatedMilliseconds !== seen ||
            database.clock() >= lookMilliseconds,
          signal,
        );
        const task = await find(taskId, binding);
        if (task?.updatedMilliseconds !== seen) return task;
      }
    },

    /** Renews the lease of a running task; false if the task has ended. */
    async renewLease(taskId: string): Promise<boolean> {
      for (;;) {
        const found = await database.find<TaskRecord>(taskKey(taskId));
        if (!found || isTerminal(found.value.status)) return false;
        const isRenewed = await database.commit((transaction) =>
          setLease(transaction.check(found), taskId, database.now())
        );
        if (isRenewed) return true;
      }
    },

    /** Stores the message of the task's progress. */
    async setMessage(taskId: string, message: string): Promise<void> {
      const statusMessage = shortMessage(message);
      await changeTask(database, taskId, () => ({ statusMessage }));
    },

    /** Resolves when the task has ended, in any process. */
    async ended(taskId: string, signal: AbortSignal): Promise<void> {
      await database.waitFor<TaskRecord>(
        taskKey(taskId),
        (task) => task === undefined || isTerminal(task.status),
        signal,
      );
    },
  };
}

/** The reader of tasks, which notices those whose process is gone. */
class TaskReader {
  readonly #lapses: Lapses;

  constructor(private readonly database: Database, confirmSeconds: number) {
    this.#lapses = new Lapses(database, confirmSeconds * 1000);
  }

  /** Finds a caller's task; undefined if there is none. */
  async find(taskId: string, binding: string): Promise<Task | undefined> {
    for (;;) {
      const [task, held] = await this.database.getMany<[TaskRecord, Expiring]>([
        taskKey(taskId),
        taskLeaseKey(taskId),
      ]);
      const { value: record } = task;
      if (!record || !isBoundTo(record.binding, binding)) return undefined;
      // Durable work is taken over, and does not fail.
      if (isTerminal(record.status) || held.value || record.durable) {
        this.#lapses.forget(taskId);
        return await this.#read(taskId, record);
      }
      const isLookedAt = this.#lapses.has(taskId);
      if (!this.#lapses.isCertain(taskId, held)) {
        if (!isLookedAt) this.#lookAgain(taskId, binding);
        return await this.#read(taskId, record);
      }
      this.#lapses.forget(taskId);
      await this.#fail(task, record, held);
    }
  }

  /** Fails a task, unless its process renews the lease meanwhile. */
  async #fail(
    task: Entry<TaskRecord>,
    record: TaskRecord,
    held: Entry<Expiring>,
  ): Promise<void> {
    const failed: TaskRecord = {
      ...record,
      status: "failed",
      updatedMilliseconds: nextUpdate(this.database, record),
      questions: {},
      outcome: { text: JSON.stringify(DIED) },
    };
    await this.database.commit((transaction) =>
      transaction.check(task, held).set(task.key, failed).delete(held.key)
    );
  }

  /** Reads a task; its texts expire with it, or a moment before it. */
  async #read(taskId: string, record: TaskRecord): Promise<Task | undefined> {
    try {
      return await readTask(this.database, taskId, record);
    } catch (error) {
      if (!(error instanceof TextExpiredError)) throw error;
      return undefined;
    }
  }

  /** Looks at a task until its lease is renewed, or it has failed. */
  #lookAgain(taskId: string, binding: string): void {
    const { database } = this;
    database.background(async () => {
      while (this.#lapses.has(taskId)) {
        await pause(HEARTBEAT_SECONDS * 1000, database.closing);
        if (database.closing.aborted) return;
        const task = await this.find(taskId, binding).catch(() => null);
        if (task === undefined) this.#lapses.forget(taskId);
      }
    });
  }
}
