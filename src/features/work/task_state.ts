/**
 * The state in which a client finds a task: the progress of its tool in words,
 * or in numbers where there are none, and its end.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { RpcCode } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { DIED, type TaskEnd } from "./task_end.ts";
import type { TaskMessages } from "./task_record.ts";
import { isInstance } from "../../core/thrown.ts";
import {
  answerFailure,
  type Failure,
} from "../../core/mcp/exchange/failure.ts";
import { Expelled } from "./durable_run.ts";
import { Parked } from "./parking.ts";
import type { TaskParts } from "./task_work.ts";
import { DivergenceError } from "./step_name.ts";

/** The end of a task: a result or an error, and the outcome for the log. */
export type SettledTask = Pick<Failure, "outcome" | "result" | "error">;

/** The end of a task whose process stops. */
export const STOPPED: SettledTask = { outcome: "stopped", error: DIED };

/** The end of a task that its client has already ended. */
export const CANCELLED: SettledTask = { ...STOPPED, outcome: "cancelled" };

/** The end of a task whose grant has ended. */
export const EXPELLED: SettledTask = {
  outcome: "stopped",
  error: {
    code: RpcCode.internalError,
    message: "The permission for this task has ended, or is paused",
  },
};

/** The log of exceptions, and what their clients are told. */
type Told = Pick<TaskParts, "log" | "showsCauses">;

export function resultEnding(result: CallToolResult): SettledTask {
  return { result, outcome: result.isError ? "tool_error" : "ok" };
}

/** Makes the end of a task from an exception. Never throws. */
export function failedEnding(
  thrown: unknown,
  taskId: string,
  parts: Told,
): SettledTask {
  const { log, showsCauses } = parts;
  const failed = {
    log,
    showsCauses,
    reference: taskId,
    isTool: true,
    inBand: true,
  };
  return answerFailure(thrown, failed, (failure) => failure);
}

/**
 * Makes the end of a task from an exception; undefined if the work goes on in
 * another process.
 */
export function endingOf(
  error: unknown,
  taskId: string,
  parts: Told,
): SettledTask | undefined {
  if (isInstance(error, Parked)) return undefined;
  if (isInstance(error, Expelled)) return EXPELLED;
  if (!isInstance(error, DivergenceError)) {
    return failedEnding(error, taskId, parts);
  }
  parts.log.error("Durable work cannot go on", { reference: taskId, error });
  const message =
    `The tool has changed since this work began (reference ${taskId})`;
  return {
    outcome: "internal_error",
    error: { code: RpcCode.internalError, message },
  };
}

export function taskEndOf({ result, error }: SettledTask): TaskEnd {
  return result
    ? { status: "completed", outcome: result as JsonObject }
    : { status: "failed", outcome: { ...error } };
}

/** The least time between two messages that are written. */
const MESSAGE_MILLISECONDS = 1000;

/**
 * The status message of one task. The first is written at once, later ones at
 * most once a second. The last is never lost.
 */
export class StatusMessage {
  #waiting?: TaskMessages;
  #writtenMilliseconds = -Infinity;
  #timer?: ReturnType<typeof setTimeout>;
  #writing: Promise<void> = Promise.resolve();
  #hasEnded = false;

  constructor(
    private readonly store: (messages: TaskMessages) => Promise<void>,
  ) {}

  /**
   * Sets a new message. Resolves once it is written, or queued until {@linkcode
   * MESSAGE_MILLISECONDS} have passed.
   */
  async report(messages: TaskMessages): Promise<void> {
    if (this.#hasEnded) return;
    this.#waiting = { ...this.#waiting, ...messages };
    const passed = performance.now() - this.#writtenMilliseconds;
    if (passed >= MESSAGE_MILLISECONDS) return await this.#flush();
    this.#timer ??= setTimeout(
      () => this.#flush().catch(() => {}),
      MESSAGE_MILLISECONDS - passed,
    );
  }

  /** Writes the queued message. */
  async write(): Promise<void> {
    if (this.#waiting !== undefined) await this.#flush();
  }

  /** Ends the writing. Returns the queued message, which was not written. */
  async end(): Promise<string | undefined> {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    await this.#writing.catch(() => {});
    return this.#waiting?.statusMessage;
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const messages = this.#waiting!;
    this.#waiting = undefined;
    this.#writtenMilliseconds = performance.now();
    return this.#writing = this.#writing.catch(() => {})
      .then(() => this.store(messages));
  }
}

/** Prints progress as `3 of 9: indexing`, or as much of it as there is. */
export function printProgress(
  { message, progress, total }: JsonObject,
): string | undefined {
  const words = typeof message === "string" ? message : undefined;
  if (total === undefined) return words;
  return [`${progress} of ${total}`, words].filter(Boolean).join(": ");
}
