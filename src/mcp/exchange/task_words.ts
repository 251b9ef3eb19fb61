/**
 * A task in words, as the result of a tool: for models whose client knows no
 * tasks.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isObject, type JsonObject } from "../../json.ts";
import { isTerminal } from "../../store/task_record.ts";
import type { Task } from "../../store/tasks.ts";
import { TASK_CANCEL, TASK_STATUS } from "../catalogue/compiled_tool.ts";
import type { Call } from "./call.ts";
import { shortened } from "../wire/messages.ts";
import { errorResult, resultOf } from "../wire/tool_result.ts";

/** The most characters of a question that are repeated. */
const QUESTION_CHARACTERS = 500;

/** Makes the answer to a call that was handed over. */
export function handedOver(
  task: Task,
  { catalogue, params }: Pick<Call, "catalogue" | "params">,
): CallToolResult {
  const { taskId } = task;
  const text = `This is not the result yet. ${stateOf(task)} ` +
    `It goes on as a task: call ${TASK_STATUS} for the result, or ` +
    `${TASK_CANCEL} to end it, with ${JSON.stringify({ taskId })}.`;
  const tool = catalogue.tools.get(params.name as string);
  // Clients of the SDKs throw away a result without the structured content that
  // its tool promises, unless it is an error.
  return tool?.output
    ? errorResult(`Nothing has failed. ${text}`)
    : resultOf(text);
}

/** Makes the answer about a task that has not ended. */
export function stillWorking(task: Task): CallToolResult {
  return resultOf(
    `${stateOf(task)} Call ${TASK_STATUS} again with ${
      JSON.stringify({ taskId: task.taskId })
    } for its result.`,
  );
}

const NOT_YET = new RegExp(
  `\\bcall ${TASK_STATUS} (?:for the result, or ${TASK_CANCEL} to end it,|again)` +
    ' with {"taskId":"([\\w-]+)"}(?: for its result)?\\.$',
  "i",
);

/**
 * Reads the task's ID in an answer that is not the result yet, as a model does:
 * one of {@linkcode handedOver} or {@linkcode stillWorking}.
 */
export function parseNotYet({ content }: CallToolResult): string | undefined {
  const text = content[0]?.type === "text" ? content[0].text : "";
  return NOT_YET.exec(text)?.[1];
}

/** Makes the answer about a task that is none of the caller's. */
export function unknownTask(): CallToolResult {
  return errorResult(
    "You have no task with this ID, or its result is no longer kept. Call the tool again.",
  );
}

/**
 * Gives the result of a task's tool, as its call would have.
 *
 * @param stateless true if it is for a client without sessions: the others know
 * no structured content but objects
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

/** Tells how far a task is, in a sentence or more. */
export function stateOf(task: Task): string {
  const { status, statusMessage, inputRequests } = task;
  if (isTerminal(status)) return `The task is ${status}.`;
  const asked = Object.values(inputRequests ?? {}).map(({ params }) =>
    questionOf(params)
  );
  if (asked.length > 0) {
    return `The tool waits for an answer${asked.join("")}.`;
  }
  if (statusMessage === undefined) return "The tool still runs.";
  // An address stands in a line of its own, without a full stop.
  return statusMessage.includes("\n")
    ? `The tool still runs:\n${statusMessage}\n`
    : `The tool still runs: ${statusMessage}.`;
}

/** Gives the words of a question, and the page to open if it has one. */
function questionOf({ message, url }: JsonObject): string {
  if (typeof message !== "string") return "";
  const words = ` to “${shortened(message, QUESTION_CHARACTERS)}”`;
  return typeof url === "string" ? `${words}, at ${url}` : words;
}
