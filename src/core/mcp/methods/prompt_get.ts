/**
 * `prompts/get`.
 *
 * @module
 * @see MCP 2026-07-28, Prompts, Getting a Prompt
 */
import type { Prompt, PromptAnswer } from "../../../authoring/prompt.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import { callWithNeeds } from "../exchange/needs.ts";
import { CallContext } from "../exchange/call_context.ts";
import { parseBy } from "../../protocol/json_schema.ts";
import { argumentsOf, invalidParams, quoted } from "../../protocol/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { inputErrorText } from "../../protocol/results.ts";

/**
 * Returns the messages of the prompt that a request names.
 *
 * @throws {RpcError} -32602 for an unknown prompt or wrong arguments
 */
export async function getPrompt(call: Call): Promise<Answer> {
  const { catalogue, params, printedLists: { printer }, context } = call;
  const { name } = params;
  const prompt = catalogue.prompts.get(name as string);
  if (prompt === undefined) {
    throw invalidParams(`Unknown prompt: ${quoted(name)}`);
  }
  const { description } = prompt;
  const args = await parseArguments(prompt, argumentsOf(params));
  return await CallContext.andThen(
    context,
    callWithNeeds(call, prompt, args, "ask", (own) => prompt.get(own, context)),
    (answer) => ({
      result: printer.result({
        ...(description && { description }),
        messages: messagesOf(prompt, answer),
      }),
    }),
  );
}

async function parseArguments(
  { args }: Prompt,
  given: JsonObject,
): Promise<JsonObject> {
  if (!args) return {};
  const parsed = await parseBy(args, given);
  if (!parsed.success) throw invalidParams(inputErrorText(parsed.error));
  return parsed.data as JsonObject;
}

/** @throws {TypeError} if the answer is neither a string nor messages */
function messagesOf({ name }: Prompt, answer: PromptAnswer) {
  if (typeof answer === "string") {
    return [{ role: "user", content: { type: "text", text: answer } }];
  }
  const messages = Array.isArray(answer) ? answer : [answer];
  if (messages.every((message) => isObject(message?.content))) return messages;
  throw new TypeError(`prompt ${name} must give a text or messages`);
}
