/**
 * `/account/work`: the tasks of a signed-in person, the page of one of them, and
 * the form that cancels it.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Notice } from "../account_page/notice.tsx";
import type { QuestionInWords } from "../questions/question_form.tsx";
import { WorkPage } from "./work_page.tsx";
import {
  ownTasks,
  questionsInWords,
  resultInWords,
  stateInWords,
  stepsInWords,
} from "./own_tasks.ts";
import { type WorkInWords, WorkSection } from "./work_section.tsx";
import { isTerminal } from "./task_record.ts";
import { type Wait, waitsOf } from "../questions/waits.ts";
import { workOf } from "./work_stores.ts";
import {
  type AccountPagePart,
  type AccountPageServices,
  type AccountPageVisit,
  type FormServices,
  redirectBack,
} from "../account_page/account_pages.ts";

export function workPart(services: AccountPageServices): AccountPagePart {
  const own = ownTasks(services);
  const { steps } = workOf(services.server);
  const waits = waitsOf(services.server);

  async function showAll({ session, form: { base }, now }: AccountPageVisit) {
    const [{ tasks, count }, asking] = await Promise.all([
      own.list(session),
      waits.listOf(session.subject),
    ]);
    const clients = await own.clients(session, tasks);
    const waitingTasks = new Set(asking.map(({ pageTask }) => pageTask));
    const work = tasks.map((task): WorkInWords => ({
      taskId: task.taskId,
      ...own.toolOf(task),
      client: clients.get(task.grantId)?.name,
      createdAt: Math.floor(task.createdMilliseconds / 1000),
      ...stateInWords(task, waitingTasks.has(task.taskId), now),
    }));
    return WorkSection({ base, work, count, now });
  }

  async function showOne(
    { session, form, now }: AccountPageVisit,
    taskId: string,
  ) {
    const task = await own.find(session, taskId);
    const isOpen = !isTerminal(task.status);
    const [clients, outline, asking] = await Promise.all([
      own.clients(session, [task]),
      steps.outline(taskId),
      isOpen ? waits.listOf(session.subject) : [],
    ]);
    const pages = asking.filter(({ pageTask }) => pageTask === taskId);
    return WorkPage({
      ...form,
      taskId,
      ...own.toolOf(task),
      client: clients.get(task.grantId)?.name,
      createdAt: Math.floor(task.createdMilliseconds / 1000),
      updatedAt: Math.floor(task.updatedMilliseconds / 1000),
      expiresAt: task.expiresAt,
      keep: task.keep,
      isOpen,
      ...stateInWords(task, pages.length > 0, now),
      statusMessage: task.waitsFor ?? task.statusMessage,
      steps: stepsInWords(outline, task, pages.length > 0, now),
      questions: [...questionsInWords(task), ...pages.map(questionOfPage)],
      result: resultInWords(task),
      now,
    });
  }

  return {
    name: "work",
    label: "Work",
    title: "Your work",
    query: ["task"],
    show: (visit) =>
      visit.query.task ? showOne(visit, visit.query.task) : showAll(visit),
  };
}

function questionOfPage({ id, payload }: Wait): QuestionInWords {
  return { message: String(payload!.message), way: "page", waitId: id! };
}

/** Makes the endpoint of the form by which a person cancels a task. */
export function workCancellation(
  services: FormServices,
): (c: Context) => Promise<Response> {
  const { returnPaths, signedIn, log } = services;
  const { tasks } = workOf(services.server);
  const own = ownTasks(services);

  return async (c) => {
    const { id, session, form } = await signedIn.findForm(c);
    const { taskId, tool } = await own.find(session, form.require("task"));
    // The process that works on the task notices soon.
    const isEnded = await tasks.end(taskId, { status: "cancelled" });
    if (isEnded) {
      log.audit("Task cancelled on the account page", {
        reference: c.get("reference"),
        subject: session.subject,
        task: taskId,
        tool,
      });
    }
    const change: Notice["change"] = isEnded ? "cancelled" : "over";
    const names = isEnded && tool !== undefined
      ? [services.titleOf(tool) ?? tool]
      : [];
    return await redirectBack(c, returnPaths, { id, form }, { change, names });
  };
}
