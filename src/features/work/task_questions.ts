/**
 * Questions of a running task: they are in its record until any process accepts
 * the answer.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import { DURABLE_SECONDS } from "../../authoring/durable.ts";
import type { InputRequest } from "../../core/protocol/question.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Database, Expiring, Write } from "../../core/kv/database.ts";
import { taskAnswerKey, taskKey } from "../../core/kv/keys.ts";
import { persist, tidy } from "../../core/kv/persist.ts";
import { changeTask, RUNNING_SECONDS, type TaskRecord } from "./task_record.ts";
import { setWake } from "./wakes.ts";
import {
  deleteText,
  isSameText,
  keysOf,
  readText,
  saveText,
  type TextRef,
} from "../../core/kv/texts.ts";

/** The most characters of a question in a record, which may have several. */
const MAX_QUESTION_CHARACTERS = 1000;

/**
 * The most characters of all open questions in a record, as JSON. A value has
 * 64 KiB, of two bytes a character at most.
 */
const MAX_OPEN_CHARACTERS = 24_000;

/** True if a task's record has room for one more question. */
function hasRoomFor(
  { questions }: Pick<TaskRecord, "questions">,
  key: string,
  ref: TextRef,
): boolean {
  if (Object.keys(questions).length === 0) return true;
  const { length } = JSON.stringify({ ...questions, [key]: ref });
  return length <= MAX_OPEN_CHARACTERS;
}

interface AnswerRecord extends Expiring {
  ref: TextRef;
}

interface Asking {
  signal: AbortSignal;
  /**
   * For durable work: stores the answer, as JSON, before it is deleted here. An
   * earlier run may have asked the question already, and have got its answer.
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
      transaction.delete(key, ...keysOf(ref))
    );
  }
}

export function taskQuestions(database: Database) {
  async function removeAnswer(key: Deno.KvKey): Promise<void> {
    const found = await database.find<AnswerRecord>(key);
    if (!found) return;
    await database.commit((transaction) =>
      transaction.delete(key, ...keysOf(found.value.ref))
    );
  }

  return {
    /**
     * Opens a question and waits for its answer. Where many are open, it is
     * opened once others have theirs.
     */
    async ask(
      taskId: string,
      key: string,
      question: InputRequest,
      { signal, keep }: Asking,
    ): Promise<JsonObject> {
      const seconds = keep ? DURABLE_SECONDS : RUNNING_SECONDS;
      const ref = await persist(
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
      for (let hasRoom = true;;) {
        await persist(
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
        hasRoom = true;
        await database.waitFor<TaskRecord>(
          taskKey(taskId),
          (task) => task === undefined || hasRoomFor(task, key, ref),
          signal,
        );
      }
      // An earlier run has asked the question.
      if (!isAsked) await deleteText(database, ref);
      // The answer of durable work stays here until it is stored.
      let isDone = keep === undefined;
      try {
        const answer = await database.waitFor<AnswerRecord>(
          answerKey,
          (answer) => answer !== undefined,
          signal,
        );
        // The answer was accepted, so it must arrive.
        const text = await persist(
          () => readText(database, answer!.ref),
          { signal },
        );
        await keep?.(text);
        isDone = true;
        return JSON.parse(text);
      } finally {
        if (isDone) await tidy(() => removeAnswer(answerKey));
      }
    },

    /**
     * Accepts answers; those to questions that are not open are ignored.
     * Returns true if one was accepted.
     *
     * @param extraWrites further checks and writes of an answer's commit
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
          ({ questions: { [key]: open, ...questions } }, isUnchanged) => {
            // Then who answers may do so no more.
            if (isUnchanged) return;
            asked = open;
            return open && {
              questions,
              status: Object.keys(questions).length > 0
                ? "input_required"
                : "working",
            };
          },
          (transaction) => {
            extraWrites(transaction);
            transaction.set(taskAnswerKey(taskId, key), record)
              .delete(...keysOf(asked!));
            // Perhaps no process waits for the answer.
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
