/**
 * Tasks: long work as records that any process can read, answer and cancel. One
 * process works on a task, and has a lease on it. When the lease has lapsed,
 * any process that reads the task marks it as failed.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import { pause } from "../../core/clock.ts";
import { callRepeats } from "./call_repeats.ts";
import type { Database, Entry } from "../../core/kv/database.ts";
import {
  repeatKey,
  taskKey,
  taskLeaseKey,
  tasksOfKey,
} from "../../core/kv/keys.ts";
import {
  CONFIRM_SECONDS,
  HEARTBEAT_SECONDS,
  isHeld,
  setLease,
  type TaskLease,
  WatchedTaskLeases,
} from "../../core/kv/leases.ts";
import { taskBeginnings } from "./task_beginning.ts";
import { DIED, type OnCancelled, type TaskEnd, taskEnds } from "./task_end.ts";
import { taskLists } from "./task_list.ts";
import { taskQuestions } from "./task_questions.ts";
import {
  changeTask,
  isTerminal,
  isToBeRenewed,
  nextUpdate,
  readTask,
  RUNNING_SECONDS,
  shortMessage,
  type Task,
  type TaskMessages,
  type TaskOfPerson,
  type TaskRecord,
} from "./task_record.ts";
import { renewText, TextExpiredError } from "../../core/kv/texts.ts";

export type { Task, TaskEnd };

/** Functions that are called when a task has ended by itself. */
export interface TaskEvents {
  onCancelled?: OnCancelled;
  /** Called when a task has failed because its process died. */
  onDied?(taskId: string, record: TaskRecord): void;
}

export type TaskStore = ReturnType<typeof taskStore>;

/**
 * Opens the tasks of a database.
 *
 * @param events `confirmSeconds`: the time for which an expired lease is
 * watched before its task fails
 */
export function taskStore(
  database: Database,
  events: TaskEvents & { confirmSeconds?: number } = {},
) {
  const { confirmSeconds = CONFIRM_SECONDS } = events;
  const leases = new WatchedTaskLeases(database, confirmSeconds);

  /** Finds a caller's task; undefined if there is none. */
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
      // Durable work is taken over, and does not fail.
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

  /** Fails a task, unless its process renews the lease meanwhile. */
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
      outcome: { text: JSON.stringify(DIED) },
    };
    const hasFailed = await database.commit((transaction) =>
      transaction.check(task, held).set(task.key, failed).delete(held.key)
    );
    if (hasFailed) events.onDied?.(taskId, failed);
  }

  /** Reads a task; undefined if its texts have just expired. */
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

  /** Checks a task again until its lease is renewed, or the task has failed. */
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
     * Renews a running task's lease, and its records before they expire. Returns
     * false if it has ended.
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

    /** Stores the messages of a task; an empty one removes the last. */
    async setMessages(taskId: string, messages: TaskMessages): Promise<void> {
      const short = Object.entries(messages)
        .map(([member, message = ""]) => [member, shortMessage(message)]);
      await changeTask(database, taskId, () => Object.fromEntries(short));
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
