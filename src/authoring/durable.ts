/**
 * Durable work: a tool whose task survives the process that runs it. Its
 * function runs again from the beginning in another process, and the results of
 * its steps are there.
 *
 * @module
 */
import type { MaybePromise } from "./service.ts";

/** The longest time for which the result of a durable task is kept. */
export const MAX_KEEP_SECONDS = 30 * 24 * 60 * 60;

/** The option `task` of a tool whose work survives its process. */
export interface DurableTask {
  /** Tells it from the other values of `task`. */
  durable: true;
  /**
   * The seconds for which the result stays after the end, at most 30 days; a
   * day by default.
   */
  keep?: number;
  /**
   * The version of its steps, 1 by default. Raise it when their IDs or their
   * order change: work of an older version then goes on by the IDs alone.
   */
  version?: number;
}

/** The surroundings of one step. */
export interface StepContext {
  /**
   * A text that is the same whenever the step is repeated: give it to the other
   * service as its idempotency key. A step that reads it is repeated when its
   * process has died after the read was stored; one with `retries` is repeated
   * whenever its process has died.
   */
  readonly once: string;
  /** The number of this try, from 1 on. */
  readonly attempt: number;
  /** Fires when the task has ended, or the server stops. */
  readonly signal: AbortSignal;
}

/** The options of a step. */
export interface StepOptions {
  /**
   * The most times that the step is repeated: after an exception, with growing
   * pauses, or when its process has died. By default it is not.
   */
  retries?: number;
}

/**
 * The options of {@linkcode import("./context.ts").Context.wait}: of a wait for
 * a word from outside, such as a payment that a webhook tells of.
 */
export interface WaitOptions {
  /** Says in the task's status what is waited for. */
  message: string;
  /**
   * Begins what will answer, and gives it the token. Anyone who has the token
   * answers: it is a secret. It may run again with the same token.
   */
  open(token: string): MaybePromise<unknown>;
  /** The longest time to wait. */
  seconds: number;
}

/** Tells an author that a member of the context needs durable work. */
export function notDurable(member: string): TypeError {
  return new TypeError(
    `${member} is there only in the run of a tool with task: { durable: true }`,
  );
}

/** @throws {Error} that names the member of the option that is wrong */
export function checkDurable(
  { durable, keep = 1, version = 1 }: DurableTask,
): void {
  if (durable !== true) {
    throw new Error(
      'task must be optional, required or durable: "optional", "required" or { durable: true }',
    );
  }
  if (!(keep >= 1 && keep <= MAX_KEEP_SECONDS)) {
    throw new Error(
      `task.keep must be 1 to ${MAX_KEEP_SECONDS} seconds, not ${keep}`,
    );
  }
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new Error(
      `task.version must be a whole number from 1 on, not ${version}`,
    );
  }
}

/** Gives the option of a tool whose work is durable. */
export function durableOf(
  { task }: { task?: "optional" | "required" | DurableTask },
): DurableTask | undefined {
  return typeof task === "object" ? task : undefined;
}
