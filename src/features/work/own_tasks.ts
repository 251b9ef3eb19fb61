/**
 * The tasks of a signed-in person, whichever client or personal access token
 * began them. No scopes are needed, because scopes limit clients. A task is
 * hidden if the operator's permissions deny its scopes to the person.
 *
 * @module
 */
import {
  type AccountPageServices,
  type FormServices,
  redirectBack,
} from "../account_page/account_pages.ts";
import { HttpError } from "../../core/errors.ts";
import { bindingAt } from "../../core/oauth/grant.ts";
import { jwtBindingOf } from "../../core/oauth/subject.ts";
import {
  type ClientInWords,
  displayName,
  type ToolInWords,
} from "../../core/pages/names.tsx";
import type { AccountSession } from "../account_page/account_sessions.ts";
import type { ListedTask } from "./task_list.ts";
import type { Task } from "./tasks.ts";
import { workOf } from "./work_stores.ts";
import { clientInWords, clientNameOf } from "../account_page/client_words.ts";
import { isTerminal } from "./task_record.ts";
import { isApproval } from "./journal.ts";
import { nameOfStep, type Step } from "./steps.ts";
import type { StepInWords } from "./work_steps.tsx";
import type { WorkStateInWords } from "./work_section.tsx";
import type { Context } from "@hono/hono";
import type { JsonObject } from "../../core/json.ts";
import type { Parameters } from "../../core/oauth/parameters.ts";
import type { QuestionInWords } from "../questions/question_form.tsx";
import type { RunRecord } from "./run_record.ts";
import type { OpenQuestion } from "../account_page/waiting_section.tsx";
import {
  contentOfForm,
  FormEntryError,
  parseFormFields,
} from "../../core/protocol/form_fields.ts";
import type { InputRequest } from "../../core/protocol/question.ts";

const MAX_TASKS = 100;

export function ownTasks(services: AccountPageServices) {
  const { baseUrl, permissions, grants, titleOf } = services;
  const { tasks } = workOf(services.server);

  /**
   * True if the operator's permissions still allow the person the scopes of a
   * task's tool.
   */
  function isWithinReach(
    session: AccountSession,
    { scopes }: Pick<Task, "scopes">,
  ): boolean {
    const ceiling = permissions?.ceiling(session);
    return ceiling === undefined ||
      scopes.every((scope) => ceiling.includes(scope));
  }

  /**
   * Lists the person's bindings (issuer, resource and subject): one for signing
   * in, and one for JWTs if the person may have any.
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
    /**
     * Finds a task of the person.
     *
     * @throws {HttpError} 404 if the person has no such task
     */
    async find(session: AccountSession, taskId: string): Promise<Task> {
      const task = await find(taskId, bindingsOf(session));
      if (task && isWithinReach(session, task)) return task;
      throw new HttpError(404, "There is no such task of yours");
    },

    /**
     * Lists the person's tasks with their open questions, unfinished durable
     * work first.
     */
    async list(
      session: AccountSession,
    ): Promise<{ tasks: ListedTask[]; count: number }> {
      const bindings = bindingsOf(session);
      const listed = await tasks.newest(bindings, MAX_TASKS);
      const own = await Promise.all(
        listed.tasks.filter((task) => isWithinReach(session, task))
          .map(async (task) => {
            const isAsking = task.status === "input_required";
            if (!task.isUnattended && !isAsking) return task;
            // Reading a task begins a watch over its lease: if its process is
            // gone, the task fails.
            return { ...task, ...await find(task.taskId, bindings) };
          }),
      );
      return { ...listed, tasks: own };
    },

    /** Resumes those pieces of a person's durable work that `isWanted` accepts. */
    wake: (
      session: AccountSession,
      isWanted: (run: RunRecord) => boolean,
      afterSeconds?: number,
    ) => tasks.wake(bindingsOf(session), isWanted, afterSeconds),

    /** Describes the clients that began tasks, keyed by grant ID. */
    async clients(
      { subject }: AccountSession,
      of: readonly Pick<Task, "grantId">[],
    ): Promise<Map<string | undefined, ClientInWords>> {
      const ids = new Set(of.flatMap(({ grantId }) => grantId ?? []));
      const found = await Promise.all([...ids].map(grants.find));
      return new Map(
        found.flatMap((grant) => grant?.value ?? [])
          .filter((grant) => grant.subject === subject)
          .map((grant) => {
            const { isKnown, ...client } = clientInWords(grant, services);
            return [grant.id, {
              ...client,
              name: clientNameOf(grant),
              isKnown: isKnown || grant.kind === "token",
            }];
          }),
      );
    },

    toolOf({ tool }: Pick<Task, "tool">): Partial<ToolInWords> {
      return tool === undefined ? {} : { tool, toolTitle: titleOf(tool) };
    },
  };
}

/** The maximum length in characters of a result on the task's page. */
const MAX_RESULT_CHARACTERS = 20_000;

/**
 * Describes the state of a task.
 *
 * @param asked the people who have to answer on a page of this server, if any
 */
export function stateInWords(
  { status, isError, isRefused, sleepsUntil = 0, waitsFor, inputRequests }:
    Pick<
      Task,
      | "status"
      | "isError"
      | "isRefused"
      | "sleepsUntil"
      | "waitsFor"
      | "inputRequests"
    >,
  asked: "person" | "others" | undefined,
  now: number,
): WorkStateInWords {
  switch (status) {
    case "completed":
      if (isRefused) return { state: "refused" };
      return { state: isError ? "failed" : "done" };
    case "failed":
    case "cancelled":
      return { state: status };
  }
  if (asked) return { state: asked === "person" ? "waiting" : "approving" };
  const questions = questionsInWords({ inputRequests });
  if (questions.length > 0) {
    const isForPerson = questions.some(({ way }) => way !== "client");
    return { state: isForPerson ? "waiting" : "asking" };
  }
  // The time of such a sleep is only that of the next try.
  if (waitsFor !== undefined) return { state: "held" };
  return sleepsUntil > now
    ? { state: "sleeping", until: sleepsUntil }
    : { state: "running" };
}

type OutlinedStep = Omit<Step, "text">;

/** The steps of a webhook wait. */
const WAIT = /^(step|sleep):wait (.*): (open|time|end)$/s;

/**
 * Describes the steps of a task.
 *
 * @param isAsking true if one of its questions waits on a page of this server
 */
export function stepsInWords(
  steps: readonly OutlinedStep[],
  { status, inputRequests = {} }: Pick<Task, "status" | "inputRequests">,
  isAsking: boolean,
  now: number,
): StepInWords[] {
  const known = new Map(steps.map((step) => [step.id, step]));
  const isOver = isTerminal(status);
  return steps.flatMap((step) => {
    const [, , wait, part] = WAIT.exec(step.id) ?? [];
    if (wait !== undefined && known.has(`sleep:wait ${wait}: time`)) {
      const end = known.get(`step:wait ${wait}: end`);
      return part === "time" ? waitInWords(wait, step, end, isOver, now) : [];
    }
    // The work may not have resumed yet: an answer is stored before that.
    const isAnswered = step.key !== undefined && !isAsking &&
      !Object.hasOwn(inputRequests, step.key);
    return stepInWords(step, { isOver, isAnswered }, now);
  });
}

function waitInWords(
  name: string,
  { until = 0, startedAt }: OutlinedStep,
  end: OutlinedStep | undefined,
  isOver: boolean,
  now: number,
): StepInWords {
  if (end) return { name, state: "waited", at: end.startedAt };
  if (isOver) return { name, state: "left", at: startedAt };
  return { name, state: "awaiting", at: Math.max(until, now) };
}

function stepInWords(
  step: OutlinedStep,
  { isOver, isAnswered }: { isOver: boolean; isAnswered: boolean },
  now: number,
): StepInWords {
  const { id, state, startedAt, until = now, attempts = 0, most } = step;
  const colon = id.indexOf(":");
  const name = isApproval(step) ? "Approval" : nameOfStep(id);
  const words = { name, most, at: startedAt };
  switch (id.slice(0, colon)) {
    case "ask":
      if (state === "kept") return { ...words, state: "answered" };
      if (isOver) return { ...words, state: "left" };
      return { ...words, state: isAnswered ? "answered" : "asking" };
    case "sleep":
      // `now` is in whole seconds, the end of a sleep in milliseconds.
      if (Math.floor(until) <= now) {
        return { ...words, state: "slept", at: Math.floor(until) };
      }
      if (isOver) return { ...words, state: "left" };
      return { ...words, state: "sleeping", at: until };
  }
  // Messages of other errors are only for the log.
  const said = step.error?.name === "ToolError"
    ? step.error.message
    : undefined;
  const at = step.endedAt ?? startedAt;
  switch (state) {
    case "kept":
      return { ...words, state, at, tries: attempts + 1 };
    case "failed":
      return { ...words, state, at, tries: attempts, said };
    case "waiting":
      return isOver
        ? { ...words, state: "failed", tries: attempts, said }
        : { ...words, state: "tried", at: until, tries: attempts, said };
    case "begun":
      return { ...words, state: isOver ? "uncertain" : "running" };
  }
}

/** Formats the result of a task. Undefined before the task ends. */
export function resultInWords(
  { status, outcome }: Pick<Task, "status" | "outcome">,
): { text: string; isTruncated: boolean } | undefined {
  if (outcome === undefined) return undefined;
  const text = status === "failed" ? textOf(outcome.message) : printed(outcome);
  return {
    text: text.slice(0, MAX_RESULT_CHARACTERS).toWellFormed(),
    isTruncated: text.length > MAX_RESULT_CHARACTERS,
  };
}

/**
 * Formats a tool's result: the text of its text blocks, and only the type of
 * other blocks.
 */
function printed(
  { content, structuredContent }: NonNullable<Task["outcome"]>,
): string {
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.map((part) =>
    part?.type === "text" ? textOf(part.text) : `[${textOf(part?.type)}]`
  );
  if (texts.length > 0) return texts.join("\n\n");
  // Indents would make a deep result long.
  return JSON.stringify(structuredContent) ?? "";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/**
 * The maximum size of the form in bytes, for 100,000 characters of most
 * scripts.
 */
const MAX_BYTES = 1024 * 1024;

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

/** Lists the questions that a person can answer on their account page. */
export async function askedInWords(
  session: AccountSession,
  services: AccountPageServices,
): Promise<OpenQuestion[]> {
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
        createdAt: Math.floor(task.updatedMilliseconds / 1000),
      }))
  );
}

/** Reads the answer from a form. @throws {HttpError} 400 */
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
 * Makes the endpoint by which a person answers a task's question. The first
 * answer, from this page or from the client, is used.
 */
export function taskAnswer(
  services: FormServices,
): (c: Context) => Promise<Response> {
  const { returnPaths, signedIn, log } = services;
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
    } else await signedIn.checkStays(person);
    const given = answer?.action === "accept" ? "answered" : "declined";
    const change = isTaken ? given : "answeredBefore";
    return await redirectBack(c, returnPaths, { id, form }, { change });
  };
}
