/**
 * The response to a request whose work continues as a task. A client that
 * declared the tasks extension gets the extension's form, others a text for the
 * model. Any process can report the task's status.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isObject, type JsonObject } from "../../core/json.ts";
import { isTerminal } from "./task_record.ts";
import type { Task } from "./tasks.ts";
import type { Answer } from "../../core/mcp/exchange/answer.ts";
import type { Call } from "../../core/mcp/exchange/call.ts";
import { shortened } from "../../core/protocol/messages.ts";
import {
  notYetMeta,
  TASK_CANCEL,
  TASK_STATUS,
  UNKNOWN_TASK,
} from "../../core/protocol/not_yet.ts";
import { errorResult, resultOf } from "../../core/protocol/results.ts";
import type { McpClient } from "../../authoring/context.ts";
import { RpcCode, RpcError } from "../../core/errors.ts";
import { TASKS_EXTENSION } from "../../core/catalogue/printed_lists.ts";

/**
 * The maximum length in characters of a question in the description of a task.
 */
const MAX_QUESTION_CHARACTERS = 500;

/** Responds to a call with the task that its work has become. */
export function answerWithTask(call: Call, task: Task): Answer {
  const result = hasTasks(call)
    ? { resultType: "task", ...printTask(task, call.engine.clock()) }
    : handOverResult(task, call);
  return { taskId: task.taskId, goesOn: result };
}

export function handOverResult(
  task: Task,
  call: Pick<Call, "catalogue" | "params" | "caller" | "engine">,
): CallToolResult {
  const { catalogue, params } = call;
  const state = stateOf(task, addressOfTask(task, call));
  const link = linkIn(task);
  const { taskId } = task;
  const name = params.name as string;
  const isRepeatable = catalogue.taskTools.size === 0;
  const next = isRepeatable
    ? `${name} again with the same arguments for its result.`
    : `${TASK_STATUS} for the result, or ${TASK_CANCEL} to end it, with ` +
      `${JSON.stringify({ taskId })}.`;
  const goesOn = isRepeatable
    ? "It goes on: call"
    : "It goes on as a task: call";
  const text = `This is not the result yet. ${
    before(state, `${link ? SHOW_LINK : goesOn} ${next}`)
  }`;
  const tool = catalogue.tools.get(name);
  // Clients of the SDKs throw away a result without the structured content that
  // its tool promises, unless it is an error.
  const result = tool?.output
    ? errorResult(`Nothing has failed. ${text}`)
    : resultOf(text);
  return {
    ...result,
    ...notYetMeta({ taskId, state, ...isRepeatable && { isRepeatable } }, link),
  };
}

export function stillWorkingResult(
  task: Task,
  call: Pick<Call, "caller" | "engine">,
): CallToolResult {
  const state = stateOf(task, addressOfTask(task, call));
  const { taskId } = task;
  const link = linkIn(task);
  const next = `${link ? SHOW_LINK : "Call"} ${TASK_STATUS} again with ` +
    `${JSON.stringify({ taskId })} for its result.`;
  const text = before(state, next);
  return { ...resultOf(text), ...notYetMeta({ taskId, state }, link) };
}

/** The beginning of the advice to a model when the task has a link. */
const SHOW_LINK =
  "Show the person the link as it is. Once it is answered there, the work goes on. Then call";

/** Puts a task's state before a text. A link is on a line of its own. */
function before(state: string, words: string): string {
  return state.endsWith("\n") ? state + words : `${state} ${words}`;
}

/** Finds the link and its message in the text of what a task waits for. */
function linkIn({ status, waitsFor = "" }: Task) {
  const [, message, url] = /^(.*)\n(https?:\S+)$/s.exec(waitsFor) ?? [];
  return url && !isTerminal(status) ? { url, message } : undefined;
}

/**
 * Makes the tool result for a task that does not exist, or is not the caller's.
 */
export function unknownTaskResult(): CallToolResult {
  return errorResult(UNKNOWN_TASK);
}

/**
 * Returns the result of a task's tool, as the call itself would have returned
 * it.
 *
 * @param stateless false for a client with an MCP session, which accepts only
 * objects as structured content
 */
export function resultOfTask(
  { status, outcome = {} }: Task,
  { stateless }: { stateless: boolean },
): CallToolResult {
  if (status === "cancelled") return errorResult("The task was cancelled.");
  if (status === "failed") {
    return errorResult(`The task has failed: ${outcome.message}`);
  }
  const { structuredContent, ...rest } = outcome;
  const isFit = stateless || isObject(structuredContent);
  return (isFit ? outcome : rest) as unknown as CallToolResult;
}

/**
 * Describes the state of a task.
 *
 * @param page the page on which the person answers, if not in the client
 */
export function stateOf(task: Task, page?: string): string {
  const { status, inputRequests, waitsFor } = task;
  if (isTerminal(status)) return `The task is ${status}.`;
  const questions = Object.values(inputRequests ?? {});
  if (questions.length > 0) {
    const asked = questions.map(({ params }) => questionOf(params)).join("");
    const state = `The tool waits for an answer${asked}.`;
    // Other questions are for the client itself, not for a person.
    const hasPage = page !== undefined &&
      questions.some(({ method }) => method === "elicitation/create");
    return hasPage
      ? `${state} It can be given on a page too:\n${page}\n`
      : state;
  }
  const end = endOfSleep(task);
  const rests = end ? `The tool sleeps until ${end}` : "The tool still runs";
  const does = waitsFor === undefined ? rests : "The tool waits";
  const message = waitsFor ?? task.statusMessage;
  if (message === undefined) return `${does}.`;
  // A link is on a line of its own, without a full stop.
  return message.includes("\n")
    ? `${does}:\n${message}\n`
    : `${does}: ${message}.`;
}

/** Describes what the task waits for; otherwise its sleep and its progress. */
function messageOf(task: Task): string | undefined {
  const { statusMessage, waitsFor } = task;
  const end = endOfSleep(task);
  if (end === undefined || waitsFor !== undefined) {
    return waitsFor ?? statusMessage;
  }
  const sleep = `Sleeps until ${end}`;
  return statusMessage === undefined ? sleep : `${sleep}: ${statusMessage}`;
}

/** Describes the end of a tool's sleep. Undefined if it does not sleep. */
function endOfSleep({ status, sleepsUntil }: Task): string | undefined {
  if (sleepsUntil === undefined || status !== "working") return undefined;
  return new Date(sleepsUntil * 1000).toISOString().replace(".000", "");
}

/** Returns a question's message, and the URL that it asks to open, if any. */
function questionOf({ message, url }: JsonObject): string {
  if (typeof message !== "string") return "";
  const words = ` to “${shortened(message, MAX_QUESTION_CHARACTERS)}”`;
  return typeof url === "string" ? `${words}, at ${url}` : words;
}

/**
 * Returns the URL of the page on which the person answers. Undefined if the
 * task has none.
 */
function addressOfTask(
  { taskId }: Task,
  { caller, engine }: Pick<Call, "caller" | "engine">,
): string | undefined {
  return engine.waitPages?.addressOfTask(taskId, caller);
}

const REQUIRED = { extensions: { [TASKS_EXTENSION]: {} } };

export function knowsTasks(
  { capabilities: { extensions } }: McpClient,
): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

export function hasTasks(
  { stateless, client }: Pick<Call, "stateless" | "client">,
): boolean {
  return stateless && knowsTasks(client);
}

/** @throws {RpcError} -32021 with HTTP 400 unless the client declared tasks */
export function checkKnowsTasks(client: McpClient): void {
  if (knowsTasks(client)) return;
  throw new RpcError(
    RpcCode.missingCapability,
    "The client does not support tasks",
    { status: 400, data: { requiredCapabilities: REQUIRED } },
  );
}

/**
 * The seconds between two polls of a client, by the seconds since the task last
 * changed.
 */
const POLLS: readonly (readonly [quiet: number, poll: number])[] = [
  [600, 30],
  [120, 15],
  [30, 5],
  [10, 2],
];

/**
 * Formats a task as the extension defines it.
 *
 * @param now epoch milliseconds
 */
export function printTask(task: Task, now: number): JsonObject {
  const { taskId, status, inputRequests, outcome } = task;
  const statusMessage = messageOf(task);
  const quiet = (now - task.updatedMilliseconds) / 1000;
  const pollSeconds = POLLS.find(([least]) => quiet >= least)?.[1] ?? 1;
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: new Date(task.createdMilliseconds).toISOString(),
    lastUpdatedAt: new Date(task.updatedMilliseconds).toISOString(),
    ttlMs: (task.expiresAt - Math.floor(task.createdMilliseconds / 1000)) *
      1000,
    pollIntervalMs: pollSeconds * 1000,
    ...(inputRequests && { inputRequests }),
    ...(outcome && { [status === "failed" ? "error" : "result"]: outcome }),
  };
}
