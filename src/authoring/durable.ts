/**
 * Durable work: a tool whose task survives the process that runs it. If that
 * process ends, another runs the function again from its beginning, with the
 * stored results of its steps.
 *
 * @module
 */
import * as kinds from "./options.ts";
import type { MaybePromise } from "./service.ts";

/** The time within which durable work must end. */
export const DURABLE_SECONDS = 90 * 24 * 60 * 60;

/** The maximum time for which the result of a durable task is stored. */
export const MAX_KEEP_SECONDS = 30 * 24 * 60 * 60;

/** The option `task` of a tool whose work survives its process. */
export interface DurableTask {
  /** Makes the task durable. */
  durable: true;
  /** The seconds for which the result is stored; a day by default. */
  keep?: number;
  /**
   * The version of the task's steps, 1 by default. Raise it when the IDs or the
   * order of the steps change: for older work only the IDs are compared.
   */
  version?: number;
}

/** The context of one step. */
export interface StepContext {
  /**
   * A text that is the same whenever the step is repeated: give it to the other
   * service as its idempotency key. If the process dies, a step that has read
   * it is repeated, as is any step with `retries`.
   */
  readonly once: string;
  /** The number of this try, from 1. */
  readonly attempt: number;
  /** Fires when the task has ended, or the server stops. */
  readonly signal: AbortSignal;
}

/** The options of a step. */
export interface StepOptions {
  /**
   * The maximum number of repetitions, with growing pauses, after an exception
   * or the death of a process; 0 by default.
   */
  retries?: number;
}

/**
 * The options of {@linkcode import("./context.ts").Context.wait}, for a webhook
 * such as one about a payment.
 */
export interface WaitOptions {
  /** The task's status during the wait. */
  message: string;
  /**
   * Starts the work that ends in the webhook, such as a payment, with the
   * token. Anyone who has the token can answer. May be called again with the
   * same token.
   */
  open(token: string): MaybePromise<unknown>;
  /** The maximum number of seconds to wait. */
  seconds: number;
}

/** Makes the error for a context member that needs durable work. */
export function notDurableError(member: string): TypeError {
  return new TypeError(
    `${member} is there only in a run of a tool with task: { durable: true }`,
  );
}

/** The options of {@linkcode DurableTask}. */
export const DURABLE = {
  durable: kinds.required(kinds.choice(true)),
  keep: kinds.numberFrom(
    `1 to ${MAX_KEEP_SECONDS} seconds`,
    1,
    MAX_KEEP_SECONDS,
  ),
  version: kinds.countFrom(1),
} satisfies kinds.Members<DurableTask>;

/** The options of a step. */
export const STEP = {
  retries: kinds.countFrom(0),
} satisfies kinds.Members<StepOptions>;

/** The options of a wait for a webhook. */
export const WAIT = {
  message: kinds.required(kinds.TEXT),
  open: kinds.required(kinds.FUNCTION),
  seconds: kinds.required(kinds.numberFrom("a number of seconds", 0)),
} satisfies kinds.Members<WaitOptions>;

/** Returns the option of a tool whose work is durable. Undefined for others. */
export function durableOf(
  { task }: { task?: "optional" | "required" | DurableTask },
): DurableTask | undefined {
  return typeof task === "object" ? task : undefined;
}
