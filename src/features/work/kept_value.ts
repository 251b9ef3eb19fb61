/**
 * The stored form of a step's result or exception: JSON, checked when it is
 * printed.
 *
 * @module
 */
import { ToolError } from "../../authoring/tool.ts";
import type { Step } from "./steps.ts";
import type { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";
import { errorNameOf, isError, messageOf } from "../../core/thrown.ts";

/**
 * Prints the result of a step as JSON. Undefined stays undefined. The keys of
 * the person's accounts are not kept: what quotes one is kept without it.
 *
 * @throws {TypeError} with the step's name, for a value that JSON cannot
 * express, or that has such a key as a member
 */
export function printKept(
  name: string,
  value: unknown,
  given?: GivenKeys,
): string | undefined {
  if (value === undefined) return undefined;
  const refuse = (what: string, cause?: unknown) => {
    throw new TypeError(`The result of ${name} cannot be kept: ${what}`, {
      cause,
    });
  };
  let text: string | undefined;
  try {
    text = JSON.stringify(value, (key, member) => {
      const where = key === "" ? "it" : `its member ${key}`;
      if (typeof member === "function") refuse(`${where} is a function`);
      if (typeof member === "symbol") refuse(`${where} is a symbol`);
      if (member instanceof Map || member instanceof Set) {
        refuse(`${where} is a ${member.constructor.name}`);
      }
      if (given?.isKey(member)) {
        refuse(`${where} is a person's key: reveal it where it is used`);
      }
      return member;
    });
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith("The result")) {
      throw error;
    }
    return refuse("it is no JSON", error);
  }
  if (text === undefined) return refuse("it is no JSON");
  return given?.cleanJson(text) ?? text;
}

export function parseKept<T>(text: string | undefined): T {
  return (text === undefined ? undefined : JSON.parse(text)) as T;
}

/** The most characters of an error's message that are stored. */
const MAX_MESSAGE_CHARACTERS = 1000;

export function printThrown(thrown: unknown): Step["error"] {
  if (!isError(thrown)) {
    return { name: "Error", message: "The step threw what is no error" };
  }
  return {
    name: (errorNameOf(thrown) ?? "Error").slice(0, 100),
    message: messageOf(thrown).slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed(),
  };
}

/** Makes the exception that a step threw in an earlier run. */
export function thrownAgain({ name, message }: NonNullable<Step["error"]>) {
  if (name === "ToolError") return new ToolError(message);
  const error = new Error(message);
  error.name = name;
  return error;
}
