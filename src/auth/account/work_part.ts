/**
 * `GET /account/work`: a person's tasks, and the page of one of them.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { HttpError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import { type QuestionInWords, WorkPage } from "../../pages/work_page.tsx";
import { type WorkInWords, WorkSection } from "../../pages/work_section.tsx";
import type { StepStore } from "../../store/steps.ts";
import type { TaskRunStore } from "../../store/task_runs.ts";
import { isTerminal } from "../../store/task_record.ts";
import type { Task } from "../../store/tasks.ts";
import type { Wait, WaitStore } from "../../store/waits.ts";
import type { AccountPart, Visit } from "./account_part.ts";
import { ownWork, type OwnWorkSources } from "./own_work.ts";
import { resultInWords, stateInWords, stepsInWords } from "./work_words.ts";

/** The sources of the part. */
interface WorkSources extends OwnWorkSources {
  steps: Pick<StepStore, "outline">;
  taskRuns: Pick<TaskRunStore, "find">;
  waits: Pick<WaitStore, "listOf">;
}

/** Makes the part. */
export function workPart(sources: WorkSources): AccountPart {
  const own = ownWork(sources);
  const { steps, taskRuns, waits } = sources;

  async function showAll({ session, form: { base }, now }: Visit) {
    const [{ tasks, count }, asking] = await Promise.all([
      own.list(session),
      waits.listOf(session.subject),
    ]);
    const names = await own.clientNames(session, tasks);
    const asks = new Set(asking.map(({ taskId }) => taskId));
    const work = tasks.map((task): WorkInWords => ({
      taskId: task.taskId,
      tool: task.tool,
      client: names.get(task.grantId),
      createdAt: Math.floor(task.createdMilliseconds / 1000),
      ...stateInWords(task, asks.has(task.taskId), now),
    }));
    return WorkSection({ base, work, count, now });
  }

  async function showOne({ session, form, now }: Visit, taskId: string) {
    const task = await own.find(session, taskId);
    if (task === undefined) throw notThere();
    const isOpen = !isTerminal(task.status);
    const [names, outline, run, asking] = await Promise.all([
      own.clientNames(session, [task]),
      task.isDurable ? steps.outline(taskId) : [],
      task.isDurable && isOpen ? taskRuns.find(taskId) : undefined,
      isOpen ? waits.listOf(session.subject) : [],
    ]);
    const pages = asking.filter((wait) => wait.taskId === taskId);
    const known = { ...task, run: run?.value ?? undefined };
    return WorkPage({
      ...form,
      taskId,
      tool: task.tool,
      client: names.get(task.grantId),
      createdAt: Math.floor(task.createdMilliseconds / 1000),
      updatedAt: Math.floor(task.updatedMilliseconds / 1000),
      expiresAt: task.expiresAt,
      isOpen,
      ...stateInWords(known, pages.length > 0, now),
      statusMessage: task.statusMessage,
      steps: stepsInWords(outline, task, now),
      questions: [...questionsOf(task), ...pages.map(questionOfPage)],
      result: resultInWords(task),
      now,
    });
  }

  return {
    name: "work",
    label: "Work",
    title: "Your work",
    query: ["task"],
    async show(visit): Promise<Child> {
      const { task } = visit.query;
      return await (task ? showOne(visit, task) : showAll(visit));
    },
  };
}

/** Makes the refusal of a task that is another's, or gone. */
export function notThere(): HttpError {
  return new HttpError(404, "There is no such task of yours");
}

/** Lists the questions that a task asks its client. */
function questionsOf({ inputRequests = {} }: Task): QuestionInWords[] {
  return Object.values(inputRequests).map(({ params }) => ({
    message: messageOf(params as JsonObject | undefined),
  }));
}

function questionOfPage({ id, payload }: Wait): QuestionInWords {
  return { waitId: id, message: messageOf(payload) };
}

function messageOf(params: JsonObject | undefined): string {
  const { message } = params ?? {};
  return typeof message === "string" ? message : "";
}
