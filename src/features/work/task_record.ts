/**
 * The stored record of a task, and the task as clients get it.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { MaybePromise } from "../../authoring/service.ts";
import type { JsonObject } from "../../core/json.ts";
import type { InputRequest } from "../../core/protocol/question.ts";
import type {
  Database,
  Entry,
  Expiring,
  Write,
} from "../../core/kv/database.ts";
import { taskAnswerKey, taskKey } from "../../core/kv/keys.ts";
import {
  deleteText,
  isSameText,
  readText,
  saveText,
  textKeysOf,
  type TextRef,
} from "../../core/kv/texts.ts";
import { DURABLE_SECONDS } from "../../authoring/durable.ts";
import { bestEffort, untilReachable } from "../../core/kv/operations.ts";
import { setWake } from "../../core/store/waiting_work.ts";

/** The time for which an ended task is stored, in seconds. */
export const TASK_SECONDS = 24 * 60 * 60;

/**
 * The lifetime of the records of a running task, in seconds. They are renewed
 * every half hour, so an ended task can still be read for a day.
 */
export const RUNNING_SECONDS = TASK_SECONDS + 60 * 60;
const RENEWED_SECONDS = 30 * 60;

export function isToBeRenewed({ expiresAt }: Expiring, now: number): boolean {
  return expiresAt - now <= RUNNING_SECONDS - RENEWED_SECONDS;
}

/** The maximum length in characters of a status message in a record. */
const MAX_MESSAGE_CHARACTERS = 1000;

export type TaskStatus =
  | "working"
  | "input_required"
  | "completed"
  | "failed"
  | "cancelled";

/**
 * A stored task. The answers to its questions and its lease are separate
 * records.
 */
export interface TaskRecord extends Expiring {
  binding: string;
  /** The name of the list that limits how many tasks are stored. */
  list: string;
  tool?: string;
  /** The grant under which the task began. */
  grantId?: string;
  /** The scopes that the task's tool needed; absent if none. */
  scopes?: readonly string[];
  /** True if the task's tool uses the person's accounts. */
  needsAccounts?: true;
  status: TaskStatus;
  /** The last progress message of the tool. */
  statusMessage?: string;
  /** The `progress` value of that message. A later run may only raise it. */
  progress?: number;
  /** The text for the client: why a parked task waits, or the page to open. */
  waitsFor?: string;
  /**
   * The end of the tool's sleep in epoch seconds; set only while the task is
   * parked.
   */
  sleepsUntil?: number;
  /** The text for the model if the task is cut off in its approved run. */
  ifCut?: string;
  /** Epoch milliseconds. */
  createdMilliseconds: number;
  updatedMilliseconds: number;
  /** Open questions, by key. */
  questions: Record<string, TextRef>;
  /** The result or the error. Absent until the task ends. */
  outcome?: TextRef;
  /** True if the result says that the tool has failed. */
  isError?: true;
  /** True if the result says that a person refused the call. */
  isRefused?: true;
  /** True if the server stopped, or the permission ended, before the task. */
  isCut?: true;
  /**
   * The name by which a repeat of the call finds the task. Absent if repeats
   * may not get its result.
   */
  repeat?: string;
  /** Present if the task's work survives its process. */
  durable?: {
    /** The seconds for which the ended task is stored. */
    keep: number;
    /** The server address that the run belongs to. */
    address: string;
    /** The version of the run's record when the run ended. */
    endedBy?: string;
  };
}

export type TaskMessages = Pick<
  TaskRecord,
  "statusMessage" | "progress" | "waitsFor"
>;

/** A task as its client reads it. */
export interface Task extends
  Omit<
    TaskRecord,
    | "binding"
    | "list"
    | "scopes"
    | "questions"
    | "outcome"
    | "durable"
    | "repeat"
    | "ifCut"
  > {
  taskId: string;
  /** The scopes that the tool needed. Reading the task needs them too. */
  scopes: readonly string[];
  inputRequests?: Record<string, InputRequest>;
  /** For durable work: the seconds for which the ended task is stored. */
  keep?: number;
  /** If `completed`: the method's result. If `failed`: a JSON-RPC error. */
  outcome?: JsonObject;
}

/** A person's list entry for a task. */
export interface TaskOfPerson extends Expiring {
  /** The last grant that used the task. The task ends with it. */
  grantId?: string;
  createdMilliseconds: number;
  isOpen?: true;
}

export function isTerminal(status: TaskStatus): boolean {
  return status !== "working" && status !== "input_required";
}

export async function isAsking(
  database: Database,
  taskId: string,
): Promise<boolean> {
  const { value } = await database.get<TaskRecord>(taskKey(taskId));
  return Object.keys(value?.questions ?? {}).length > 0;
}

/** Cuts a status message to its maximum length. Undefined if empty. */
export function shortMessage(message: string): string | undefined {
  return message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed() || undefined;
}

/**
 * Reads a task with the texts that its record refers to.
 *
 * @throws {import("../../core/kv/texts.ts").TextExpiredError} if one of them
 * has just expired
 */
export async function readTask(
  database: Database,
  taskId: string,
  record: TaskRecord,
): Promise<Task> {
  const { questions, outcome, scopes = [], ...rest } = record;
  const { binding: _, list: _list, durable, repeat: __, ...visible } = rest;
  const { sleepsUntil = 0, waitsFor, ifCut: ___, ...own } = visible;
  const read = async (ref: TextRef) =>
    JSON.parse(await readText(database, ref));
  const open = await Promise.all(
    Object.entries(questions).map(async ([key, ref]) => [key, await read(ref)]),
  );
  return {
    ...own,
    taskId,
    scopes,
    ...sleepsUntil > database.now() && { sleepsUntil },
    ...!isTerminal(record.status) && { waitsFor },
    ...open.length > 0 && { inputRequests: Object.fromEntries(open) },
    ...durable && { keep: durable.keep },
    ...outcome && { outcome: await read(outcome) },
  };
}

/** Returns the time of an update, always later than the previous update. */
export function nextUpdate(
  { clock }: Database,
  { updatedMilliseconds }: TaskRecord,
): number {
  return Math.max(clock(), updatedMilliseconds + 1);
}

/**
 * Changes a task that has not ended. Tries again if another change comes first.
 * Returns false if the task has ended, or if `change` returns undefined.
 *
 * @param change gets `isUnchanged` if it is called again for the same task,
 * because a check of `extraWrites` has failed
 */
export function changeTask(
  database: Database,
  taskId: string,
  change: (
    record: TaskRecord,
    isUnchanged: boolean,
  ) => MaybePromise<Partial<TaskRecord> | undefined>,
  extraWrites: Write = () => {},
): Promise<boolean> {
  return database.change(
    taskKey(taskId),
    async (
      transaction,
      { key, value, versionstamp }: Entry<TaskRecord>,
      before?: Entry<TaskRecord>,
    ) => {
      if (!value || isTerminal(value.status)) return false;
      const isUnchanged = versionstamp === before?.versionstamp;
      const changes = await change(value, isUnchanged);
      if (!changes) return false;
      extraWrites(transaction.set<TaskRecord>(key, {
        ...value,
        ...changes,
        updatedMilliseconds: nextUpdate(database, value),
      }));
      return true;
    },
  );
}

/** The maximum length in characters of one question. */
const MAX_QUESTION_CHARACTERS = 1000;

/**
 * The maximum length in characters of all open questions of a record, as JSON.
 * The database allows 64 KiB, and a character takes at most two bytes.
 */
const MAX_OPEN_CHARACTERS = 24_000;

function hasRoomFor(
  { questions }: Pick<TaskRecord, "questions">,
  key: string,
  ref: TextRef,
): boolean {
  if (Object.keys(questions).length === 0) return true;
  const { length } = JSON.stringify({ ...questions, [key]: ref });
  return length <= MAX_OPEN_CHARACTERS;
}

/** Returns the changes of a record that remove one of its questions. */
function without(
  all: TaskRecord["questions"],
  key: string,
): Partial<TaskRecord> {
  const { [key]: _, ...questions } = all;
  const isAny = Object.keys(questions).length > 0;
  return { questions, status: isAny ? "input_required" : "working" };
}

interface AnswerRecord extends Expiring {
  ref: TextRef;
}

interface Asking {
  signal: AbortSignal;
  /**
   * For durable work: stores the answer, as JSON, before its record is deleted.
   * The answer may already be stored if an earlier run asked the same question.
   */
  keep?(answer: string): Promise<void>;
}

/** Deletes the answers of a task that has ended. */
export async function forgetAnswers(
  database: Database,
  taskId: string,
): Promise<void> {
  const answers = await database.list<AnswerRecord>(taskAnswerKey(taskId));
  for (const { key, value: { ref } } of answers) {
    await database.commit((transaction) =>
      transaction.delete(key, ...textKeysOf(ref))
    );
  }
}

export function taskQuestions(database: Database) {
  async function removeAnswer(key: Deno.KvKey): Promise<void> {
    const found = await database.find<AnswerRecord>(key);
    if (!found) return;
    await database.commit((transaction) =>
      transaction.delete(key, ...textKeysOf(found.value.ref))
    );
  }

  return {
    /**
     * Asks a question and waits for its answer. If the record is full, first
     * waits until other questions are answered.
     */
    async ask(
      taskId: string,
      key: string,
      question: InputRequest,
      { signal, keep }: Asking,
    ): Promise<JsonObject> {
      const seconds = keep ? DURABLE_SECONDS : RUNNING_SECONDS;
      const ref = await untilReachable(
        () =>
          saveText(database, JSON.stringify(question), {
            expiresAt: database.now() + seconds,
            inlineCharacters: MAX_QUESTION_CHARACTERS,
          }),
        { signal },
      );
      const answerKey = taskAnswerKey(taskId, key);
      // An earlier try may have stored the question too.
      let mayBeAnswered = keep !== undefined;
      let isAsked = false;
      for (;;) {
        let hasRoom = true;
        await untilReachable(
          () =>
            changeTask(database, taskId, async (task) => {
              const { questions } = task;
              hasRoom = true;
              isAsked = isSameText(questions[key], ref);
              if (Object.hasOwn(questions, key)) return;
              if (mayBeAnswered && await database.find(answerKey)) return;
              hasRoom = hasRoomFor(task, key, ref);
              if (!hasRoom) return;
              isAsked = mayBeAnswered = true;
              return {
                status: "input_required",
                questions: { ...questions, [key]: ref },
              };
            }),
          { signal },
        );
        if (hasRoom) break;
        await database.waitFor<TaskRecord>(
          taskKey(taskId),
          (task) => task === undefined || hasRoomFor(task, key, ref),
          signal,
        );
      }
      // An earlier run stored the question with its own text.
      if (!isAsked) await deleteText(database, ref);
      // The answer of durable work is kept here until it is stored.
      let isDone = keep === undefined;
      try {
        const answer = await database.waitFor<AnswerRecord>(
          answerKey,
          (answer) => answer !== undefined,
          signal,
        );
        // The answer was accepted, so it must arrive.
        const text = await untilReachable(
          () => readText(database, answer!.ref),
          { signal },
        );
        await keep?.(text);
        isDone = true;
        return JSON.parse(text);
      } finally {
        if (isDone) await bestEffort(() => removeAnswer(answerKey));
      }
    },

    /** Removes an open question whose answer is no longer needed. */
    async withdrawQuestion(taskId: string, key: string): Promise<void> {
      let asked: TextRef | undefined;
      await changeTask(
        database,
        taskId,
        ({ questions }) => {
          asked = questions[key];
          return asked && without(questions, key);
        },
        (transaction) => transaction.delete(...textKeysOf(asked!)),
      );
    },

    /**
     * Accepts answers to open questions, and ignores others. Returns true if it
     * accepted one.
     *
     * @param extraWrites added to the commit of each answer
     */
    async answer(
      taskId: string,
      answers: JsonObject,
      extraWrites: Write = () => {},
    ): Promise<boolean> {
      let isAnyTaken = false;
      const task = await database.find<TaskRecord>(taskKey(taskId));
      if (!task) return false;
      const { expiresAt, questions, durable } = task.value;
      for (const [key, answer] of Object.entries(answers)) {
        if (!Object.hasOwn(questions, key)) continue;
        const ref = await saveText(database, JSON.stringify(answer), {
          expiresAt,
        });
        const record: AnswerRecord = { ref, expiresAt };
        let asked: TextRef | undefined;
        const isTaken = await changeTask(
          database,
          taskId,
          ({ questions }, isUnchanged) => {
            // The task is unchanged, so a check has failed: the person may no
            // longer answer.
            if (isUnchanged) return;
            asked = questions[key];
            return asked && without(questions, key);
          },
          (transaction) => {
            extraWrites(transaction);
            transaction.set(taskAnswerKey(taskId, key), record)
              .delete(...textKeysOf(asked!));
            // The run may be parked: then no process waits for the answer.
            if (durable) {
              const { address } = durable;
              const dueSeconds = database.now();
              setWake(transaction, { address, taskId, dueSeconds, expiresAt });
            }
          },
        );
        if (isTaken) isAnyTaken = true;
        else await deleteText(database, ref);
      }
      return isAnyTaken;
    },
  };
}
