/**
 * Elicitation: questions to a client and its person, as MCP sends them.
 * @module
 * @see MCP 2026-07-28, Elicitation
 */
import { randomId } from "../crypto/crypto.ts";
import type {
  ElicitationAnswer,
  McpClient,
  Question,
} from "../../authoring/context.ts";
import type { InputRequest } from "./question.ts";
import { ToolError } from "../../authoring/tool.ts";
import { toJsonSchema, withoutPrototype } from "./json_schema.ts";
import { invalidParams, quoted } from "./messages.ts";
import { isObject, type JsonObject } from "../json.ts";
import { issueText } from "./results.ts";

/** The maximum number of times that one form is shown to a person. */
export const MAX_FORM_ATTEMPTS = 3;

/** A form with wrong values. The message lists the fields. */
export class FormError extends ToolError {
  override name = "FormError";
  constructor(
    /** One line for each field that is wrong. */
    readonly issues: string,
  ) {
    super(`The form was not filled in as asked:\n${issues}`);
  }
}

/** An error that a client sends in response to a question. */
export class QuestionError extends ToolError {
  constructor(method: string, message?: string) {
    super(`The client refused ${method}: ${message}`);
  }
}

/**
 * Returns the capability that a question needs and the client lacks; undefined
 * if the client can be asked (MCP 2026-07-28, Base Protocol).
 */
export function lackedFor(
  { method, params }: InputRequest,
  { capabilities }: McpClient,
): JsonObject | undefined {
  const name = method.split("/")[0];
  const capability = capabilities[name];
  const mode = params.mode === "url" ? "url" : "form";
  const tools = params.tools === undefined ? undefined : "tools";
  const part = method === "elicitation/create" ? mode : tools;
  const needed = { [name]: part === undefined ? {} : { [part]: {} } };
  if (!isObject(capability)) return needed;
  const isThere = part === undefined || part in capability ||
    // A client that declares neither `form` nor `url` shows forms.
    part === "form" && !("url" in capability);
  return isThere ? undefined : needed;
}

/**
 * Makes the `params` of `elicitation/create`. In MCP 2025, a question with a
 * URL gets an `elicitationId`. When a form is shown again, the message says
 * what was wrong.
 */
export function elicitationParams(
  question: Question,
  { stateless }: { stateless: boolean },
  mistake?: FormError,
): JsonObject {
  const message = mistake
    ? `${question.message}\n\nPlease correct:\n${mistake.issues}`
    : question.message;
  if ("url" in question) {
    const elicitationId = stateless ? {} : { elicitationId: randomId(16) };
    return { mode: "url", message, url: question.url, ...elicitationId };
  }
  return { mode: "form", message, requestedSchema: formOf(question) };
}

type FormQuestion = Exclude<Question, { url: string }>;

function formOf(question: FormQuestion): JsonObject {
  if ("requestedSchema" in question) return question.requestedSchema;
  const { type, properties, required } = toJsonSchema(question.schema, "input");
  return { type, properties, ...(required ? { required } : {}) };
}

/**
 * True for a form without fields, which agents accept without asking anyone.
 */
export function isEmptyForm(question: Question): boolean {
  if ("url" in question) return false;
  const fields = "schema" in question
    ? question.schema.shape
    : question.requestedSchema.properties;
  return !isObject(fields) || Object.keys(fields).length === 0;
}

/**
 * Parses the person's answer by the type of the question.
 *
 * @throws {RpcError} -32602 if it is no answer to the question
 * @throws {FormError} for a form that does not match its schema
 */
export function parseAnswer(
  question: Question,
  { action, content: given }: JsonObject,
): ElicitationAnswer<unknown> {
  if (action === "decline" || action === "cancel") return { action };
  if (action !== "accept") {
    throw invalidParams(
      `action must be accept, decline or cancel, not ${quoted(action)}`,
    );
  }
  if ("url" in question) return { action, content: undefined };
  const content = given ?? emptyContent(question);
  if (!isObject(content)) {
    throw invalidParams(
      "An accepted form must have an object as its content, not " +
        quoted(content),
    );
  }
  if ("requestedSchema" in question) {
    return { action, content: withoutNulls(content, () => false) };
  }
  const { shape } = question.schema;
  const filled = withoutNulls(
    content,
    (name) => Object.hasOwn(shape, name) && shape[name].safeParse(null).success,
  );
  const parsed = question.schema.safeParse(withoutPrototype(filled));
  if (parsed.success) return { action, content: parsed.data };
  throw new FormError(issueText(parsed.error, "form"));
}

/**
 * Returns the content of a form that was accepted without content: an empty
 * object, or undefined if a field is required. Some clients omit the content of
 * a form whose fields are all optional.
 */
function emptyContent(question: FormQuestion): JsonObject | undefined {
  const { required } = formOf(question);
  const isOptional = !Array.isArray(required) || required.length === 0;
  return isOptional ? {} : undefined;
}

/** Removes the nulls of empty fields, except where the schema accepts null. */
function withoutNulls(
  content: JsonObject,
  takesNull: (name: string) => boolean,
): JsonObject {
  return Object.fromEntries(
    Object.entries(content).filter(([name, value]) =>
      value !== null || takesNull(name)
    ),
  );
}

/** The maximum length of a URL. Browsers may refuse longer ones. */
const MAX_URL_CHARACTERS = 8000;

/**
 * Checks a URL before a person is sent there.
 *
 * @throws {TypeError} if it is not https or http
 */
export function checkUrl(url: string): void {
  const parsed = URL.parse(url);
  const isWeb = parsed?.protocol === "https:" || parsed?.protocol === "http:";
  if (isWeb && url.length <= MAX_URL_CHARACTERS) return;
  throw new TypeError(
    "ask: url must be an https or http address of at most " +
      `${MAX_URL_CHARACTERS} characters, not ${quoted(url)}`,
  );
}
