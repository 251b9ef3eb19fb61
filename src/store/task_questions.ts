/**
 * Questions of a task at work: they stand in its record until any process
 * takes the answer.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { InputRequest } from "../protocol/inquiry.ts";
import type { JsonObject } from "../json.ts";
import { taskAnswerKey, taskKey } from "./keys.ts";
import { expireIn, type Expiring, reach } from "./kv.ts";
import { now } from "../clock.ts";
import { TASK_SECONDS, type TaskRecord, updateTask } from "./task_record.ts";
import { deleteText, readText, saveText, type TextRef } from "./texts.ts";
import { waitFor } from "./wait.ts";

/** Of a question in its task's record; several may be open. */
const QUESTION_CHARACTERS = 1000;

interface AnswerRecord extends Expiring {
  ref: TextRef;
}

/** Questions of tasks in Deno KV. */
export interface TaskQuestions {
  /** Opens a question and waits for its answer. */
  ask(
    taskId: string,
    key: string,
    question: InputRequest,
    signal: AbortSignal,
  ): Promise<JsonObject>;
  /** Takes answers; those to questions that are not open are ignored. */
  answer(taskId: string, answers: JsonObject): Promise<void>;
}

/** Questions of tasks in a database. */
export function taskQuestions(kv: Deno.Kv): TaskQuestions {
  async function removeAnswer(key: Deno.KvKey): Promise<void> {
    const { value } = await reach(() => kv.get<AnswerRecord>(key));
    if (!value) return;
    await reach(() => kv.delete(key));
    await deleteText(kv, value.ref);
  }

  return {
    async ask(taskId, key, question, signal) {
      const ref = await saveText(kv, JSON.stringify(question), {
        expiresAt: now() + TASK_SECONDS,
        inlineCharacters: QUESTION_CHARACTERS,
      });
      await updateTask(kv, taskId, ({ questions }) => ({
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
        const isTaken = await updateTask(
          kv,
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
  };
}
