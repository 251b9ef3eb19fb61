/**
 * `/account/work`: the tasks of a signed-in person, in any client of theirs and
 * under their access tokens, the page of one of them, and the form that cancels
 * it.
 *
 * Reading a task here needs no scopes: they limit what a client does in a
 * person's name, and this is the person. Tasks whose scopes the operator's
 * permissions deny to the person are hidden here too.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError } from "../../errors.ts";
import { redirect } from "../../http/browser.ts";
import type { Notice } from "../../pages/notice.tsx";
import { printNotice } from "./notices.ts";
import { type QuestionInWords, WorkPage } from "../../pages/work_page.tsx";
import { type WorkInWords, WorkSection } from "../../pages/work_section.tsx";
import type { AccountSession } from "../../store/account_sessions.ts";
import type { ListedTask } from "../../store/task_list.ts";
import { isTerminal } from "../../store/task_record.ts";
import type { Task } from "../../store/tasks.ts";
import type { Wait } from "../../store/waits.ts";
import { bindingAt } from "../../oauth/grant.ts";
import { jwtBindingOf } from "../../oauth/subject.ts";
import type {
  AccountPart,
  AccountPlaces,
  AccountVisit,
} from "./account_pages.ts";
import type { AuthServices } from "../services.ts";
import { clientNameOf } from "./connections_part.ts";
import { resultInWords, stateInWords, stepsInWords } from "./work_words.ts";

const MAX_TASKS = 100;

/** Makes the reader of people's tasks. */
function ownWork(
  { baseUrl, permissions, grants, tasks }: AuthServices,
) {
  /** True if the person may still be granted what a task's tool needed. */
  function isWithinReach(
    session: AccountSession,
    { scopes }: Pick<Task, "scopes">,
  ): boolean {
    const ceiling = permissions?.ceiling(session);
    return ceiling === undefined ||
      scopes.every((scope) => ceiling.includes(scope));
  }

  /**
   * Lists the bindings of the person's tasks: that of signing in, and that of
   * JWTs, if they may have any.
   */
  function bindingsOf({ subject }: AccountSession): string[] {
    const ofTokens = jwtBindingOf(subject);
    const own = bindingAt(baseUrl, subject);
    return ofTokens === undefined ? [own] : [own, ofTokens];
  }

  async function find(
    taskId: string,
    bindings: readonly string[],
  ): Promise<Task | undefined> {
    for (const binding of bindings) {
      const task = await tasks.find(taskId, binding);
      if (task) return task;
    }
  }

  return {
    /** Finds a task of the person; undefined for anyone else's. */
    async find(
      session: AccountSession,
      taskId: string,
    ): Promise<Task | undefined> {
      const task = await find(taskId, bindingsOf(session));
      return task && isWithinReach(session, task) ? task : undefined;
    },

    /** Lists the person's tasks, those that go on first. */
    async list(
      session: AccountSession,
    ): Promise<{ tasks: ListedTask[]; count: number }> {
      const bindings = bindingsOf(session);
      const listed = await tasks.newest(bindings, MAX_TASKS);
      // Reading a task begins a watch over its lease: it fails if its process
      // is gone.
      await Promise.all(
        listed.tasks.filter(({ isUnattended }) => isUnattended)
          .map(({ taskId }) => find(taskId, bindings)),
      );
      return {
        ...listed,
        tasks: listed.tasks.filter((task) => isWithinReach(session, task)),
      };
    },

    /** Gives the names of the clients that began tasks, by their grants. */
    async clientNames(
      { subject }: AccountSession,
      of: readonly Pick<Task, "grantId">[],
    ): Promise<Map<string | undefined, string>> {
      const ids = new Set(of.flatMap(({ grantId }) => grantId ?? []));
      const found = await Promise.all([...ids].map(grants.find));
      return new Map(
        found.filter((grant) => grant?.value.subject === subject)
          .map((grant) => [grant!.value.id, clientNameOf(grant!.value)]),
      );
    },
  };
}

export function workPart(services: AuthServices): AccountPart {
  const own = ownWork(services);
  const { steps, waits, titleOf } = services;

  /** Names the tool of a task as pages do. */
  const namedTool = ({ tool }: Pick<Task, "tool">) =>
    tool === undefined ? {} : { tool, toolTitle: titleOf(tool) };

  async function showAll({ session, form: { base }, now }: AccountVisit) {
    const [{ tasks, count }, asking] = await Promise.all([
      own.list(session),
      waits.listOf(session.subject),
    ]);
    const names = await own.clientNames(session, tasks);
    const waitingTasks = new Set(asking.map(({ pageTask }) => pageTask));
    const work = tasks.map((task): WorkInWords => ({
      taskId: task.taskId,
      ...namedTool(task),
      client: names.get(task.grantId),
      createdAt: Math.floor(task.createdMilliseconds / 1000),
      ...stateInWords(task, waitingTasks.has(task.taskId), now),
    }));
    return WorkSection({ base, work, count, now });
  }

  async function showOne({ session, form, now }: AccountVisit, taskId: string) {
    const task = await own.find(session, taskId);
    if (task === undefined) throw notThere();
    const isOpen = !isTerminal(task.status);
    const [names, outline, asking] = await Promise.all([
      own.clientNames(session, [task]),
      steps.outline(taskId),
      isOpen ? waits.listOf(session.subject) : [],
    ]);
    const pages = asking.filter(({ pageTask }) => pageTask === taskId);
    return WorkPage({
      ...form,
      taskId,
      ...namedTool(task),
      client: names.get(task.grantId),
      createdAt: Math.floor(task.createdMilliseconds / 1000),
      updatedAt: Math.floor(task.updatedMilliseconds / 1000),
      expiresAt: task.expiresAt,
      isOpen,
      ...stateInWords(task, pages.length > 0, now),
      statusMessage: task.waitsFor ?? task.statusMessage,
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
    show: (visit) =>
      visit.query.task ? showOne(visit, visit.query.task) : showAll(visit),
  };
}

/** Makes the refusal of a task that is another's, or gone. */
function notThere(): HttpError {
  return new HttpError(404, "There is no such task of yours");
}

function questionsOf({ inputRequests = {} }: Task): QuestionInWords[] {
  return Object.values(inputRequests).map(({ params = {} }) => ({
    // A question for the client itself has no words for the person.
    message: "message" in params ? String(params.message) : "",
  }));
}

function questionOfPage({ id, payload }: Wait): QuestionInWords {
  return { waitId: id, message: String(payload!.message) };
}

/** Makes the endpoint of the form by which a person cancels a task. */
export function workCancellation(
  services: AuthServices & { places: AccountPlaces },
): (c: Context) => Promise<Response> {
  const { places, signedIn, tasks, log } = services;
  const own = ownWork(services);

  return async (c) => {
    const { id, session, form } = await signedIn.findForm(c);
    const task = await own.find(session, form.require("task"));
    if (task === undefined) throw notThere();
    const { taskId, tool } = task;
    // The process that works on it notices soon.
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
    const message = await printNotice(id, { change, names });
    return redirect(c, places.addressOf(form.get("back"), message));
  };
}
