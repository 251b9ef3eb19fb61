/**
 * The names of steps, sleeps and questions, and their places, as errors print
 * them.
 *
 * @module
 */
import { nameOfStep, type Step } from "./steps.ts";

/** The most characters of an ID. */
const MAX_ID_CHARACTERS = 200;

/** Names a step for its author; a question, by the beginning of its text. */
export function named(id: string, asks?: string): string {
  const name = `${KINDS[id.slice(0, id.indexOf(":"))]} "${nameOfStep(id)}"`;
  return asks === undefined ? name : `${name} (${asks})`;
}

/** Names a step at the beginning of a sentence. */
export function titled(id: string, asks?: string): string {
  const name = named(id, asks);
  return name[0].toUpperCase() + name.slice(1);
}

const KINDS: Readonly<Record<string, string>> = {
  step: "the step",
  sleep: "the sleep",
  ask: "the question",
};

/** @throws {TypeError} unless the ID is a text of 1 to 200 characters */
export function checkName(name: unknown): void {
  if (
    typeof name === "string" && name !== "" && name.length <= MAX_ID_CHARACTERS
  ) {
    return;
  }
  throw new TypeError(
    `The ID of a step must be a text of 1 to ${MAX_ID_CHARACTERS} characters`,
  );
}

/**
 * Returns the line of the author's code in the stack of an error, with a space
 * before it. Empty if there is none.
 */
export function placeOf({ stack = "" }: Error): string {
  const line = stack.split("\n").slice(1)
    .find((line) =>
      !line.includes("/src/features/work/") &&
      !line.includes("/src/core/mcp/exchange/")
    );
  return line === undefined ? "" : ` ${line.trim()}`;
}

/** A step, sleep or question that came where earlier runs had another one. */
interface Found {
  id: string;
  number: number;
  question?: { text: string };
  where: Error;
}

/** Thrown when the author's code was changed while its work was under way. */
export class DivergenceError extends Error {
  override name = "DivergenceError";

  /**
   * @param before the step that earlier runs asked for
   * @param instead the step that came instead; absent if the run ended
   */
  constructor(before: Step, instead?: Found) {
    const was = named(before.id, before.asks);
    const found = instead
      ? `number ${before.number} was ${was}, and ${
        named(instead.id, instead.question?.text)
      } is number ${instead.number}${placeOf(instead.where)}`
      : `${was}, which was number ${before.number}, is not there any more`;
    super(
      `The work has changed: ${found}. ` +
        "Put it back, or raise the version of the tool's task",
    );
  }
}
