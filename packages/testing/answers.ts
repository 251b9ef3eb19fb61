/**
 * Scripted answers to the questions that a tool asks its client.
 *
 * @module
 */
import type { CreateMessageResult, Root } from "@modelcontextprotocol/server";
import type { ElicitationAnswer } from "../../src/authoring/context.ts";
import { isObject, type JsonObject } from "../../src/core/json.ts";

/** A question that a tool asked its client. */
export interface AskedQuestion {
  /**
   * The question's `key`; by default its kind and number, such as
   * `elicitation-1`.
   */
  key: string;
  /** `elicitation/create`, `sampling/createMessage` or `roots/list`. */
  method: string;
  /** The text that `ask` shows to the person; empty for other questions. */
  message: string;
  /** The request's parameters as the protocol has them. */
  params: Record<string, unknown>;
}

/**
 * An answer, by the kind of its question:
 *
 * - `ask`: the answer that the tool will get, such as
 *   `{ action: "accept", content: { name: "Ada" } }`, or the action alone:
 *   `"accept"` leaves a form empty;
 * - `sample`: the model's text, or the whole result;
 * - `roots`: a list of URIs or roots.
 */
export type TestAnswer =
  | string
  | ElicitationAnswer<Readonly<Record<string, unknown>> | undefined>
  | CreateMessageResult
  | readonly (string | Root)[];

/**
 * The answers: in the order of the questions, by a question's key or message,
 * or as a function of the question.
 */
export type TestAnswers =
  | readonly TestAnswer[]
  | Readonly<Record<string, TestAnswer>>
  | ((question: AskedQuestion) => TestAnswer | undefined);

/** Answers the questions of one call and records them. */
export class AnswerScript {
  readonly asked: AskedQuestion[] = [];

  /**
   * @param caller the name of the tool that asks, such as `choose`, for errors
   */
  constructor(
    private readonly caller: string,
    private readonly answers: TestAnswers = [],
  ) {}

  /**
   * Makes the result for a question.
   *
   * @throws {Error} if the test has no answer for the question, or one of
   * another kind
   */
  answer(method: string, params: JsonObject, key?: string): JsonObject {
    const kind = method.split("/")[0];
    const question: AskedQuestion = {
      key: key ?? `${kind}-${this.asked.length + 1}`,
      method,
      message: typeof params.message === "string" ? params.message : "",
      params,
    };
    const answer = this.#find(question);
    this.asked.push(question);
    if (answer === undefined) throw this.#unanswered(question);
    return printAnswer(answer, question);
  }

  #find(question: AskedQuestion): TestAnswer | undefined {
    const { answers } = this;
    if (typeof answers === "function") return answers(question);
    if (isList(answers)) return answers[this.asked.length];
    return answers[question.key] ?? answers[question.message];
  }

  #unanswered(question: AskedQuestion): Error {
    const { length } = this.asked;
    return new Error(
      `${this.caller} asked a question that the test does not answer, its ` +
        `number ${length}:\n${printQuestion(question)}\n` +
        `Answer it with the option answers: ${EXAMPLES[question.method]}`,
    );
  }
}

const EXAMPLES: Readonly<Record<string, string>> = {
  "elicitation/create":
    '[{ action: "accept", content: { … } }], ["decline"] or ["cancel"]',
  "sampling/createMessage": '["what the model says"]',
  "roots/list": '[["file:///a/directory"]]',
};

/** Formats a question for an error message. */
function printQuestion({ key, method, message, params }: AskedQuestion) {
  const { requestedSchema, url, messages } = params;
  const more = requestedSchema ?? url ?? messages;
  const lines = [
    `  ${method}${message && ` ${JSON.stringify(message)}`}, key ${key}`,
    ...(more === undefined ? [] : [`  ${JSON.stringify(more)}`]),
  ];
  return lines.join("\n");
}

/** True for a list. Unlike `Array.isArray`, it narrows readonly arrays too. */
function isList<T>(value: readonly T[] | object): value is readonly T[] {
  return Array.isArray(value);
}

/**
 * Converts an answer to the protocol's form.
 *
 * @throws {Error} for an answer of another kind
 */
function printAnswer(answer: TestAnswer, question: AskedQuestion): JsonObject {
  const { method } = question;
  switch (method) {
    case "elicitation/create":
      if (answer === "accept") {
        return question.params.mode === "url"
          ? { action: answer }
          : { action: answer, content: {} };
      }
      if (answer === "decline" || answer === "cancel") {
        return { action: answer };
      }
      if (isObject(answer) && "action" in answer) return answer;
      break;
    case "sampling/createMessage":
      if (typeof answer === "string") {
        const content = { type: "text", text: answer };
        return { model: "test", role: "assistant", content };
      }
      if (isObject(answer) && "model" in answer) return answer;
      break;
    case "roots/list":
      if (isList<string | Root>(answer as readonly Root[])) {
        const roots = answer as readonly (string | Root)[];
        return {
          roots: roots.map((root) =>
            typeof root === "string" ? { uri: root } : root
          ),
        };
      }
  }
  throw new Error(
    `${JSON.stringify(answer)} does not answer this question:\n` +
      `${printQuestion(question)}\nUse answers: ${EXAMPLES[method]}`,
  );
}
