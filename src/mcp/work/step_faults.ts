/**
 * The faults of steps that an author or an operator reads: each names its step.
 *
 * @module
 */
import { RpcCode, RpcError } from "../../errors.ts";
import { MOST_CHARACTERS } from "./kept_value.ts";
import { named, type StepCall } from "./step_order.ts";

/** The most steps, sleeps and questions of one task. */
export const MOST_STEPS = 1000;
/** The most characters of an ID. */
const ID_CHARACTERS = 200;

/** The error of one step more than a task may have. */
export function tooMany({ id }: StepCall): RangeError {
  return new RangeError(
    `${titled(id)} is one too many: a task has at most ${MOST_STEPS}`,
  );
}

/** Tells the compiler that a step has an ID. @throws {TypeError} if it has none */
export function checkName(name: unknown): asserts name is string {
  if (typeof name === "string" && name !== "" && name.length <= ID_CHARACTERS) {
    return;
  }
  throw new TypeError(
    `The ID of a step must be a text of 1 to ${ID_CHARACTERS} characters`,
  );
}

/** The error of a step that no one may repeat, in which its process died. */
export function mayHaveHappened({ id }: StepCall): RpcError {
  return new RpcError(
    RpcCode.internalError,
    `${
      titled(id)
    } may have happened: its process has stopped in it, and it is not repeated`,
  );
}

/** The error of a step in which processes died more often than it may be tried. */
export function hasDied({ id }: StepCall, attempts: number): RpcError {
  return new RpcError(
    RpcCode.internalError,
    `${titled(id)} was tried ${attempts} times, and its process died in it`,
  );
}

/** The error of a result for which its task has no room. */
export function tooLong({ id }: StepCall): RangeError {
  return new RangeError(
    `The result of ${named(id)} cannot be kept: those of one task have at ` +
      `most ${MOST_CHARACTERS} characters together`,
  );
}

function titled(id: string): string {
  const name = named(id);
  return name[0].toUpperCase() + name.slice(1);
}
