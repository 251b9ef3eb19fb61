/**
 * `prompts/get`.
 *
 * @module
 * @see MCP 2026-07-28, Prompts, Getting a Prompt
 */
import type { PromptAnswer } from "../../authoring/prompt.ts";
import {
  argumentsOf,
  type Call,
  type MaybePromise,
  type Printed,
  then,
} from "../call.ts";
import { parseBy } from "../../protocol/json_schema.ts";
import { invalidParams, quoted } from "../../protocol/messages.ts";
import type { JsonObject } from "../../json.ts";
import { inputErrorText } from "../../protocol/tool_result.ts";

/**
 * The messages of the prompt that a request names.
 *
 * @throws {import("../../errors.ts").RpcError} -32602 for no prompt or wrong arguments
 */
export function getPrompt(call: Call): MaybePromise<Printed> {
  const { catalogue, params, introduction: { printer }, context } = call;
  const { name } = params;
  const prompt = typeof name === "string"
    ? catalogue.prompts.get(name)
    : undefined;
  if (prompt === undefined) {
    throw invalidParams(`Unknown prompt: ${quoted(name)}`);
  }
  const { args, get, description } = prompt;
  const given = argumentsOf(params);
  const print = (answer: PromptAnswer) =>
    printer.result({
      ...(description && { description }),
      messages: messagesOf(answer),
    });
  if (!args) return then(get({}, context), print);
  return then(parseBy(args, given), (parsed) => {
    if (!parsed.success) throw invalidParams(inputErrorText(parsed.error));
    return then(get(parsed.data as JsonObject, context), print);
  });
}

function messagesOf(answer: PromptAnswer) {
  if (typeof answer === "string") {
    return [{ role: "user", content: { type: "text", text: answer } }];
  }
  return Array.isArray(answer) ? answer : [answer];
}
