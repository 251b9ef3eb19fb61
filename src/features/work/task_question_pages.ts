/**
 * The open questions of a person's tasks that no page has, and
 * `POST /account/work/answer`: the person answers one in place of the client that
 * began the task, which may be gone.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError } from "../../core/errors.ts";
import { redirect } from "../../core/http/browser.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Parameters } from "../../core/oauth/parameters.ts";
import { displayName } from "../../core/pages/names.tsx";
import type { QuestionInWords } from "../questions/question_form.tsx";
import type { WaitInWords } from "../account_page/waiting_section.tsx";
import {
  contentOfForm,
  FormEntryError,
  parseFormFields,
} from "../../core/protocol/form_fields.ts";
import type { InputRequest } from "../../core/protocol/question.ts";
import type { AccountSession } from "../account_page/account_sessions.ts";
import { workOf } from "./work_stores.ts";
import type { Task } from "./tasks.ts";
import type {
  AccountServices,
  PlacedServices,
} from "../account_page/account_pages.ts";
import { printNotice } from "../account_page/notices.ts";
import { ownTasks } from "./own_tasks.ts";

/** The largest form: 100,000 characters of most scripts, as a form encodes them. */
const MAX_BYTES = 1024 * 1024;

/** Describes the open questions of a task. */
export function questionsInWords(
  { inputRequests = {} }: Pick<Task, "inputRequests">,
): QuestionInWords[] {
  return Object.entries(inputRequests).map(([key, { method, params }]) => {
    const message = typeof params.message === "string" ? params.message : "";
    // Other questions are for the client, and have no text for the person.
    if (method !== "elicitation/create") return { message, way: "client" };
    if (params.mode === "url") {
      return { message, way: "address", key, url: String(params.url) };
    }
    const fields = parseFormFields(params.requestedSchema);
    return { message, way: "form", key, fields };
  });
}

/** Lists the questions that a person can answer, for their account page. */
export async function askedInWords(
  session: AccountSession,
  services: AccountServices,
): Promise<WaitInWords[]> {
  const own = ownTasks(services);
  const { tasks } = await own.list(session);
  const asking = tasks.filter(({ inputRequests }) => inputRequests);
  const clients = await own.clients(session, asking);
  return asking.flatMap((task) =>
    questionsInWords(task).filter(({ way }) => way !== "client")
      .map(({ message }) => ({
        path: `/account/work?task=${encodeURIComponent(task.taskId)}`,
        client: clients.get(task.grantId),
        ...own.toolOf(task),
        message,
        createdAt: Math.floor(task.updatedMilliseconds! / 1000),
      }))
  );
}

/** Reads the answer of a form. @throws {HttpError} 400 */
function answerIn(form: Parameters, { params }: InputRequest): JsonObject {
  const action = form.get("answer");
  if (action === "decline") return { action };
  if (action !== "accept") {
    throw new HttpError(400, "answer must be accept or decline");
  }
  if (params.mode === "url") return { action };
  const fields = parseFormFields(params.requestedSchema);
  if (!fields) throw new HttpError(400, "Only the app can show this form");
  try {
    return { action, content: contentOfForm(fields, (name) => form.get(name)) };
  } catch (error) {
    if (!(error instanceof FormEntryError)) throw error;
    const { title, message } = error;
    throw new HttpError(400, `“${displayName(title)}” ${message}`, {
      situation: "wrong entry",
    });
  }
}

/**
 * Makes the endpoint. Only the first answer is used, from here or the client.
 */
export function taskAnswer(
  services: PlacedServices,
): (c: Context) => Promise<Response> {
  const { places, signedIn, log } = services;
  const { tasks } = workOf(services.server);
  const own = ownTasks(services);

  return async (c) => {
    const { form, ...person } = await signedIn.findForm(c, MAX_BYTES);
    const { id, session } = person;
    const task = await own.find(session, form.require("task"));
    // A key names one question as long as the task is stored.
    const key = form.require("question");
    const open = new Map(Object.entries(task.inputRequests ?? {})).get(key);
    const answer = open?.method === "elicitation/create"
      ? answerIn(form, open)
      : undefined;
    const stays = await signedIn.staysAllowed(person);
    const { subject } = session;
    const isTaken = answer !== undefined &&
      await tasks.answer(task.taskId, { [key]: answer }, stays);
    if (isTaken) {
      log.audit("Answered on the page of a task", {
        reference: c.get("reference"),
        subject,
        task: task.taskId,
        tool: task.tool,
        answer: answer.action,
      });
    }
    const given = answer?.action === "accept" ? "answered" : "declined";
    const change = isTaken ? given : "answeredBefore";
    const message = await printNotice(id, { change });
    return redirect(c, places.addressOf(form.get("back"), message));
  };
}
