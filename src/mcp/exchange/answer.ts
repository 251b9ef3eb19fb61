/**
 * The answer of a method, and the end of its request that is made of it.
 *
 * @module
 */
import type { JsonObject } from "../../json.ts";
import type { Outcome } from "../../log/outcome.ts";
import type { Task } from "../../store/tasks.ts";
import type { JsonAnswer } from "./encode.ts";

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
  /** The outcome, if `isToolError` does not tell it. */
  outcome?: Outcome;
}

/** The end of a request: its answer in print, and its outcome for the log. */
export interface Ending extends JsonAnswer {
  outcome: Outcome;
  /** The reason of a refusal in a few words, for the log. */
  refusal?: string;
  /** The JSON-RPC error code in the body. */
  code?: number;
  /** True if the body is a tool's result with `isError`. */
  isToolError?: boolean;
}
