/**
 * Tasks: long work as records that any process can read, answer and cancel.
 * One process works on a task and says so with a lease; when the lease lapses,
 * whoever looks next declares the task failed.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { InputRequest } from "../protocol/inquiry.ts";
import type { JsonObject } from "../json.ts";
import { taskKey, taskLeaseKey } from "./keys.ts";
import {
  alive,
  commit,
  expireIn,
  type Expiring,
  find,
  type Found,
  reach,
} from "./kv.ts";
import { now } from "../clock.ts";
import { type TaskQuestions, taskQuestions } from "./task_questions.ts";
import {
  isTerminal,
  TASK_SECONDS,
  type TaskRecord,
  type TaskStatus,
  updateTask,
} from "./task_record.ts";
import { deleteText, readText, saveText } from "./texts.ts";
import { waitFor } from "./wait.ts";

/** A task whose process died has failed within this time. */
export const LEASE_SECONDS = 15;
/** How often a process says that it is still at work. */
export const HEARTBEAT_SECONDS = 5;

/** What a record has room for, beside its outcome. */
const MESSAGE_CHARACTERS = 1000;

/** A task as its client may see it. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  createdMilliseconds: number;
  updatedMilliseconds: number;
  inputRequests?: Record<string, InputRequest>;
  /** `completed`: the method's result; `failed`: a JSON-RPC error. */
  outcome?: JsonObject;
}

/** How a task ended. */
export type Outcome =
  | { status: "completed" | "failed"; outcome: JsonObject }
  | { status: "cancelled"; statusMessage?: string };

/** Tasks in Deno KV. */
export interface TaskStore extends TaskQuestions {
  /** Keeps a new task; it can be found anywhere before this resolves. */
  create(taskId: string, binding: string): Promise<Task>;
  /** A caller's task; undefined when there is none. */
  find(taskId: string, binding: string): Promise<Task | undefined>;
  /**
   * A caller's task once it is no longer as it was `seen`; undefined when it
   * is gone.
   *
   * @throws the signal's reason when it fires first
   */
  next(
    seen: Task,
    binding: string,
    signal: AbortSignal,
  ): Promise<Task | undefined>;
  /** Says that work goes on; false when the task has ended. */
  renewLease(taskId: string): Promise<boolean>;
  /** Tells what is being done. */
  setMessage(taskId: string, statusMessage: string): Promise<void>;
  /** Ends a task, once; false when it had ended already. */
  end(taskId: string, outcome: Outcome): Promise<boolean>;
  /** Resolves when the task has ended, wherever that was. */
  ended(taskId: string, signal: AbortSignal): Promise<void>;
}

/** Tasks in a database. */
export function taskStore(kv: Deno.Kv): TaskStore {
  async function end(taskId: string, outcome: Outcome): Promise<boolean> {
    const ref = "outcome" in outcome
      ? await saveText(kv, JSON.stringify(outcome.outcome), {
        expiresAt: now() + TASK_SECONDS,
      })
      : undefined;
    const isEnded = await updateTask(
      kv,
      taskId,
      () => ({ ...outcome, outcome: ref, questions: {} }),
      (operation) => operation.delete(taskLeaseKey(taskId)),
    );
    if (!isEnded && ref) await deleteText(kv, ref);
    return isEnded;
  }

  async function view(
    taskId: string,
    { value: record }: Found<TaskRecord>,
  ): Promise<Task> {
    const { status, statusMessage, questions, outcome } = record;
    const { createdMilliseconds, updatedMilliseconds } = record;
    const open = await Promise.all(
      Object.entries(questions).map(async ([key, ref]) =>
        [key, JSON.parse(await readText(kv, ref))] as const
      ),
    );
    return {
      taskId,
      status,
      statusMessage,
      createdMilliseconds,
      updatedMilliseconds,
      ...(open.length > 0 && { inputRequests: Object.fromEntries(open) }),
      ...(outcome && { outcome: JSON.parse(await readText(kv, outcome)) }),
    };
  }

  return {
    ...taskQuestions(kv),
    end,

    async create(taskId, binding) {
      const time = Date.now();
      const record: TaskRecord = {
        binding,
        status: "working",
        createdMilliseconds: time,
        updatedMilliseconds: time,
        questions: {},
        expiresAt: now() + TASK_SECONDS,
      };
      const until = lease();
      await commit(kv, (operation) =>
        operation
          .set(taskKey(taskId), record, expireIn(record))
          .set(taskLeaseKey(taskId), until, expireIn(until)));
      const versionstamp = "";
      return await view(taskId, { value: record, versionstamp });
    },

    async find(taskId, binding) {
      const keys = [taskKey(taskId), taskLeaseKey(taskId)];
      const [task, held] = await reach(() =>
        kv.getMany<[TaskRecord, Expiring]>(keys as [Deno.KvKey, Deno.KvKey])
      );
      const found = alive(task);
      if (found?.value.binding !== binding) return undefined;
      if (isTerminal(found.value.status) || alive(held)) {
        return await view(taskId, found);
      }
      await end(taskId, {
        status: "failed",
        outcome: {
          code: -32603,
          message: "The process that ran this task has stopped",
        },
      });
      return await this.find(taskId, binding);
    },

    async next({ taskId, updatedMilliseconds: seen }, binding, signal) {
      for (;;) {
        // A lease that lapses changes no record until somebody looks.
        const lookMilliseconds = Date.now() + HEARTBEAT_SECONDS * 1000;
        await waitFor<TaskRecord>(
          kv,
          taskKey(taskId),
          (record) =>
            record?.updatedMilliseconds !== seen ||
            Date.now() >= lookMilliseconds,
          signal,
        );
        const task = await this.find(taskId, binding);
        if (task?.updatedMilliseconds !== seen) return task;
      }
    },

    async renewLease(taskId) {
      const key = taskKey(taskId);
      for (;;) {
        const found = await find<TaskRecord>(kv, key);
        if (!found || isTerminal(found.value.status)) return false;
        const { versionstamp } = found;
        const until = lease();
        const isRenewed = await commit(kv, (operation) =>
          operation
            .check({ key, versionstamp })
            .set(taskLeaseKey(taskId), until, expireIn(until)));
        if (isRenewed) return true;
      }
    },

    async setMessage(taskId, message) {
      const statusMessage = message.slice(0, MESSAGE_CHARACTERS);
      await updateTask(kv, taskId, () => ({ statusMessage }));
    },

    async ended(taskId, signal) {
      await waitFor<TaskRecord>(
        kv,
        taskKey(taskId),
        (task) => task === null || isTerminal(task.status),
        signal,
      );
    },
  };
}

function lease(): Expiring {
  return { expiresAt: now() + LEASE_SECONDS };
}
