/**
 * `/account/work`: a signed-in person's tasks, the page of one task, and the
 * form that cancels it.
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

  /** Lists the open pages on which a person's tasks wait for an answer. */
  async function pagesOf(
    { subject }: AccountPageVisit["session"],
    now: number,
  ) {
    const open = await waits.listOf(subject, ["page", "approval"]);
    return open.filter(({ approval }) => !approval || approval.closesAt! > now);
  }

  async function showAll({ session, form: { base }, now }: AccountPageVisit) {
    const [{ tasks, count }, asking] = await Promise.all([
      own.list(session),
      pagesOf(session, now),
    ]);
    const clients = await own.clients(session, tasks);
    const work = tasks.map((task): WorkInWords => ({
      taskId: task.taskId,
      ...own.toolOf(task),
      client: clients.get(task.grantId)?.name,
      createdAt: Math.floor(task.createdMilliseconds / 1000),
      ...stateInWords(
        task,
        askedBy(asking.filter(({ pageTask }) => pageTask === task.taskId)),
        now,
      ),
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
      isOpen ? pagesOf(session, now) : [],
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
      ...stateInWords(task, askedBy(pages), now),
      // `waitsFor` has the link of a page, which is already among the
      // questions.
      statusMessage: pages.length > 0
        ? task.statusMessage
        : task.waitsFor ?? task.statusMessage,
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

/** Returns who has to answer on a task's pages. Undefined if it has none. */
function askedBy(pages: readonly Wait[]): "person" | "others" | undefined {
  if (pages.length === 0) return undefined;
  return pages.every(({ approval }) => approval?.scope !== undefined)
    ? "others"
    : "person";
}

function questionOfPage({ id, payload, approval }: Wait): QuestionInWords {
  if (!approval) {
    const message = String(payload!.message);
    return { message, way: "page", path: `/wait/${id}` };
  }
  const { scope } = approval;
  const message = scope === undefined
    ? "Wants your approval"
    : `Someone else, who has the permission ${scope}, has to approve`;
  return {
    message: `${message}: ${payload!.title}`,
    way: "page",
    path: `/approve/${id}`,
    isForOthers: scope !== undefined,
  };
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
