/**
 * The answer of a method, before it is settled.
 *
 * @module
 */
import type { JsonObject } from "../../json.ts";
import type { Task } from "../../store/tasks.ts";

/** An answer of a method to its request. */
export type Answer =
  | Result
  /** Anything that was thrown. */
  | { error: unknown }
  /** The questions that its client is asked first: `InputRequiredResult`. */
  | { ask: JsonObject }
  /** The task that goes on after it, and reports its own end. */
  | { task: Task };

/** A result as JSON text. */
export interface Result {
  result: string;
  /** True if it is a tool's, with `isError`. */
  isToolError?: boolean;
}
