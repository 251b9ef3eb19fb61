/**
 * Tasks: long work as records that any process can read, answer and cancel.
 * One process works on a task and says so with a lease; when the lease lapses,
 * whoever looks next declares the task failed.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { InputRequest } from "../mcp/input_required.ts";
import type { JsonObject } from "../mcp/messages.ts";
import { taskAnswerKey, taskKey, taskLeaseKey } from "./keys.ts";
import {
  alive,
  commit,
  expireIn,
  type Expiring,
  find,
  type Found,
  now,
  reach,
} from "./kv.ts";
import { deleteText, readText, saveText, type TextRef } from "./texts.ts";
import { waitFor } from "./wait.ts";

/** How long a task can be asked for after it was created. */
export const TASK_SECONDS = 24 * 60 * 60;
/** A task whose process died has failed within this time. */
export const LEASE_SECONDS = 15;
/** How often a process says that it is still at work. */
export const HEARTBEAT_SECONDS = 5;

/** What a record has room for, beside its outcome. */
const MESSAGE_CHARACTERS = 1000;
/** Of a question in its record; several may be open. */
const QUESTION_CHARACTERS = 1000;

/** MCP extension Tasks, Task Status. */
export type TaskStatus =
  | "working"
  | "input_required"
  | "completed"
  | "failed"
  | "cancelled";

interface TaskRecord extends Expiring {
  binding: string;
  status: TaskStatus;
  statusMessage?: string;
  /** Epoch milliseconds: they are printed as timestamps. */
  createdMilliseconds: number;
  updatedMilliseconds: number;
  /** Questions that wait for an answer, by key. */
  questions: Record<string, TextRef>;
  /** The result or the error, once there is one. */
  outcome?: TextRef;
}

interface AnswerRecord extends Expiring {
  ref: TextRef;
}

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
export interface TaskStore {
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
  /** Opens a question and waits for its answer. */
  ask(
    taskId: string,
    key: string,
    question: InputRequest,
    signal: AbortSignal,
  ): Promise<JsonObject>;
  /** Takes answers; those to questions that are not open are ignored. */
  answer(taskId: string, answers: JsonObject): Promise<void>;
  /** Ends a task, once; false when it had ended already. */
  end(taskId: string, outcome: Outcome): Promise<boolean>;
  /** Resolves when the task has ended, wherever that was. */
  ended(taskId: string, signal: AbortSignal): Promise<void>;
}

/** Whether nothing happens to a task any more. */
export function isTerminal(status: TaskStatus): boolean {
  return status !== "working" && status !== "input_required";
}

/** Tasks in a database. */
export function taskStore(kv: Deno.Kv): TaskStore {
  /** Applies a change to a live task until no other one comes between. */
  async function update(
    taskId: string,
    change: (record: TaskRecord) => Partial<TaskRecord> | undefined,
    also: (operation: Deno.AtomicOperation) => Deno.AtomicOperation = (
      operation,
    ) => operation,
  ): Promise<boolean> {
    const key = taskKey(taskId);
    for (;;) {
      const found = await find<TaskRecord>(kv, key);
      if (!found || isTerminal(found.value.status)) return false;
      const { value, versionstamp } = found;
      const changes = change(value);
      if (!changes) return false;
      const record: TaskRecord = {
        ...value,
        ...changes,
        // It tells one state from the next, however fast they follow.
        updatedMilliseconds: Math.max(
          Date.now(),
          value.updatedMilliseconds + 1,
        ),
      };
      const isDone = await commit(kv, (operation) =>
        also(
          operation.check({ key, versionstamp }).set(
            key,
            record,
            expireIn(record),
          ),
        ));
      if (isDone) return true;
    }
  }

  async function end(taskId: string, outcome: Outcome): Promise<boolean> {
    const ref = "outcome" in outcome
      ? await saveText(kv, JSON.stringify(outcome.outcome), {
        expiresAt: now() + TASK_SECONDS,
      })
      : undefined;
    const isEnded = await update(
      taskId,
      () => ({ ...outcome, outcome: ref, questions: {} }),
      (operation) => operation.delete(taskLeaseKey(taskId)),
    );
    if (!isEnded && ref) await deleteText(kv, ref);
    return isEnded;
  }

  async function removeAnswer(key: Deno.KvKey): Promise<void> {
    const { value } = await reach(() => kv.get<AnswerRecord>(key));
    if (!value) return;
    await reach(() => kv.delete(key));
    await deleteText(kv, value.ref);
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
      const found = await find<TaskRecord>(kv, taskKey(taskId));
      if (!found || isTerminal(found.value.status)) return false;
      const until = lease();
      await reach(() => kv.set(taskLeaseKey(taskId), until, expireIn(until)));
      return true;
    },

    async setMessage(taskId, message) {
      const statusMessage = message.slice(0, MESSAGE_CHARACTERS);
      await update(taskId, () => ({ statusMessage }));
    },

    async ask(taskId, key, question, signal) {
      const ref = await saveText(kv, JSON.stringify(question), {
        expiresAt: now() + TASK_SECONDS,
        inlineCharacters: QUESTION_CHARACTERS,
      });
      await update(taskId, ({ questions }) => ({
        status: "input_required",
        questions: { ...questions, [key]: ref },
      }));
      const answerKey = taskAnswerKey(taskId, key);
      try {
        const answer = await waitFor<AnswerRecord>(
          kv,
          answerKey,
          (answer) => answer !== null,
          signal,
        );
        return JSON.parse(await readText(kv, answer!.ref));
      } finally {
        await removeAnswer(answerKey);
      }
    },

    async answer(taskId, answers) {
      const { value: task } = await reach(() =>
        kv.get<TaskRecord>(taskKey(taskId))
      );
      if (!task) return;
      const { expiresAt } = task;
      for (const [key, answer] of Object.entries(answers)) {
        if (!Object.hasOwn(task.questions, key)) continue;
        const ref = await saveText(kv, JSON.stringify(answer), { expiresAt });
        const isTaken = await update(
          taskId,
          ({ questions: { [key]: open, ...questions } }) =>
            open && {
              questions,
              status: Object.keys(questions).length > 0
                ? "input_required"
                : "working",
            },
          (operation) =>
            operation.set(
              taskAnswerKey(taskId, key),
              { ref, expiresAt },
              expireIn({ expiresAt }),
            ),
        );
        if (!isTaken) await deleteText(kv, ref);
      }
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
