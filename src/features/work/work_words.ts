/**
 * Tasks and their steps in the form that the account page shows.
 *
 * @module
 */
import { isTerminal } from "./task_record.ts";
import { nameOfStep, type Step } from "./steps.ts";
import type { Task } from "./tasks.ts";
import type { StepInWords } from "./work_steps.tsx";
import type { WorkStateInWords } from "./work_section.tsx";
import { questionsInWords } from "./task_question_pages.ts";

/** The most characters of a result on its page. */
const MAX_RESULT_CHARACTERS = 20_000;

/**
 * Describes the state of a task.
 *
 * @param isAsking true if a question of it waits on a page of ours
 */
export function stateInWords(
  { status, isError, sleepsUntil = 0, inputRequests }: Pick<
    Task,
    "status" | "isError" | "sleepsUntil" | "inputRequests"
  >,
  isAsking: boolean,
  now: number,
): WorkStateInWords {
  switch (status) {
    case "completed":
      return { state: isError ? "failed" : "done" };
    case "failed":
    case "cancelled":
      return { state: status };
  }
  if (isAsking) return { state: "waiting" };
  const questions = questionsInWords({ inputRequests });
  if (questions.length > 0) {
    const isForPerson = questions.some(({ way }) => way !== "client");
    return { state: isForPerson ? "waiting" : "asking" };
  }
  return sleepsUntil > now
    ? { state: "sleeping", until: sleepsUntil }
    : { state: "running" };
}

/** A step without its result. */
type OutlinedStep = Omit<Step, "text">;

/** The steps of a wait for a webhook. */
const WAIT = /^(step|sleep):wait (.*): (open|time|end)$/s;

/**
 * Describes the steps of a task.
 *
 * @param isAsking true if a question of it waits on a page of ours
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
    // An answer is stored before the work that waits for it goes on.
    const isAnswered = step.key !== undefined && !isAsking &&
      !Object.hasOwn(inputRequests, step.key);
    return stepInWords(step, { isOver, isAnswered }, now);
  });
}

/** Describes a wait for a webhook. */
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
  const words = { name: nameOfStep(id), most, at: startedAt };
  switch (id.slice(0, colon)) {
    case "ask":
      if (state === "kept") return { ...words, state: "answered" };
      if (isOver) return { ...words, state: "left" };
      return { ...words, state: isAnswered ? "answered" : "asking" };
    case "sleep":
      if (until <= now) return { ...words, state: "slept", at: until };
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

/** Prints the result of a task for its person; undefined if it has none yet. */
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

/** Prints a tool's result: its texts, and the types of its other contents. */
function printed(
  { content, structuredContent }: NonNullable<Task["outcome"]>,
): string {
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.map((part) =>
    part?.type === "text" ? textOf(part.text) : `[${textOf(part?.type)}]`
  );
  if (texts.length > 0) return texts.join("\n\n");
  return structuredContent === undefined
    ? ""
    : JSON.stringify(structuredContent, null, 2);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
