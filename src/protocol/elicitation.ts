/**
 * Questions to the person behind a client, as the wire has them.
 *
 * @module
 * @see MCP 2026-07-28, Elicitation
 */
import { randomId } from "../crypto.ts";
import type { Elicited, Question } from "../authoring/context.ts";
import { toJsonSchema } from "./json_schema.ts";
import { invalidParams } from "./messages.ts";
import { isObject, type JsonObject } from "../json.ts";

/** The `params` of `elicitation/create`; 2025 names a page's elicitation. */
export function elicitationParams(
  question: Question,
  { stateless }: { stateless: boolean },
): JsonObject {
  const { message } = question;
  if ("url" in question) {
    const elicitationId = stateless ? {} : { elicitationId: randomId(16) };
    return { mode: "url", message, url: question.url, ...elicitationId };
  }
  if ("requestedSchema" in question) {
    return { mode: "form", message, requestedSchema: question.requestedSchema };
  }
  const { type, properties, required } = toJsonSchema(question.schema, "input");
  return {
    mode: "form",
    message,
    requestedSchema: { type, properties, ...(required ? { required } : {}) },
  };
}

/**
 * What the person said, typed by the question.
 *
 * @throws {import("../errors.ts").RpcError} -32602 for what is no answer to it
 */
export function parseAnswer(
  question: Question,
  { action, content }: JsonObject,
): Elicited<unknown> {
  if (action === "decline" || action === "cancel") return { action };
  if (action !== "accept") {
    throw invalidParams("action must be accept, decline or cancel");
  }
  if ("url" in question) return { action, content: undefined };
  if (!isObject(content)) {
    throw invalidParams("An accepted form must have content");
  }
  if ("requestedSchema" in question) return { action, content };
  const parsed = question.schema.safeParse(content);
  if (parsed.success) return { action, content: parsed.data };
  throw invalidParams("An accepted form does not match its schema");
}
