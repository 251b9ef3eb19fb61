/**
 * The work of a task's tool, the call that began it, and what all tasks of a
 * process share.
 *
 * @module
 */
import type { CallContext } from "../../core/mcp/exchange/call_context.ts";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Context } from "../../authoring/context.ts";
import type { Authenticated } from "../../core/caller.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Logger, Outcome } from "../../core/log/log.ts";
import type { Database } from "../../core/kv/database.ts";
import type { Claim, NewRun, RunBeginning } from "./run_record.ts";
import {
  DivergenceError,
  type Step,
  type StepFailureStore,
  type StepStore,
} from "./steps.ts";
import type { TaskRunStore } from "./task_runs.ts";
import { DIED, type Task, type TaskEnd, type TaskStore } from "./tasks.ts";
import type { WaitStore } from "../questions/waits.ts";
import type { Call } from "../../core/mcp/exchange/call.ts";
import type {
  CallerBound,
  LimitKey,
  MessageHolder,
} from "../../core/mcp/exchange/limits.ts";
import type { Work } from "../../core/mcp/exchange/work.ts";
import { RpcCode } from "../../core/errors.ts";
import type { TaskMessages } from "./task_record.ts";
import { isInstance } from "../../core/thrown.ts";
import {
  answerFailure,
  type Failure,
} from "../../core/mcp/exchange/failure.ts";
import { Expelled } from "./journal.ts";
import { Parked } from "./parking.ts";

export interface TaskParts {
  database: Database;
  tasks: TaskStore;
  runs: TaskRunStore;
  steps: StepStore;
  failures: StepFailureStore;
  waits: WaitStore;
  /** Limits the open questions of plain tasks. */
  questions: CallerBound;
  log: Logger;
  /** True in development, when clients get the causes of internal errors. */
  showsCauses?: boolean;
  /** The class of tool contexts, with the members that features add. */
  Context?: typeof CallContext;
  /**
   * Fires when the process stops. If storing the end of a task fails after
   * that, it is not tried again.
   */
  stopping: AbortSignal;
}

/**
 * The call that began a task. Some members are unknown if another process
 * resumes the task.
 */
export interface TaskOrigin extends
  MessageHolder,
  Pick<
    Work,
    | "caller"
    | "upstream"
    | "lacksUpstream"
    | "client"
    | "meta"
    | "changes"
    | "pageQuestions"
    | "advise"
  >,
  Partial<Pick<Work, "isOver">> {
  readonly authenticated: Authenticated;
  /** Sends progress to a client whose call waits for the task. */
  relayProgress?(progress: JsonObject): Promise<void>;
  /** Logs the end of the task, and adds it to the person's list of calls. */
  endTask(taskId: string, outcome: Outcome): void;
}

/** The request of a running call that becomes a task. */
export interface OriginCall
  extends Pick<Call, "authorCode" | "recall" | "ifCut"> {
  readonly execution: Pick<Call["execution"], "interrupt">;
}

/** A running call that can become a task. */
export interface CallInProgress {
  readonly request: TaskOrigin & OriginCall;
  readonly result: Promise<CallToolResult>;
  /**
   * The name by which a repeat of the call finds its task. Undefined if no
   * repeat may get its result.
   */
  readonly repeat?: string;
  /**
   * False if another caller may get the result. The tool must then not ask the
   * client.
   */
  readonly mayAsk: boolean;
  readonly statusMessage?: string;
  /**
   * Answers the call with the task, and connects the tool's context to the
   * task. Returns false if the call has ended, or must not become a task now.
   */
  take(task: Task, work: Work): boolean;
}

/** The work of a tool. Only durable work outlives its process. */
export interface TaskWork {
  tool: string;
  /** The scopes that the tool needs. Reading the task later needs them too. */
  scopes?: readonly string[];
  /** True if the tool uses the person's accounts. */
  needsAccounts?: true;
  run(context: Context): Promise<CallToolResult>;
}

/** The start of durable work, as stored. */
export interface DurableStart
  extends Pick<NewRun, "keep" | "version" | "address"> {
  beginning: RunBeginning;
}

export interface DurableWork extends TaskWork {
  version: number;
  /**
   * Counts the work in the tool's limit `callsAtOnce`. Returns the function
   * that stops counting it; undefined if the limit is reached.
   */
  enter?(limitKey: LimitKey | undefined): (() => void) | undefined;
}

/** Durable work that another process began. */
export interface ClaimedWork {
  /**
   * Undefined if this process does not know the tool, or if `lacks` is set.
   */
  work?: DurableWork;
  /** The name of a missing setting that the tool needs for accounts. */
  lacks?: string;
  origin: TaskOrigin;
  /** True if the caller may still do the work. */
  isAllowed: boolean | "paused";
  /**
   * False if this process does not know the provider or issuer of the caller;
   * another process may.
   */
  isConfigured: boolean;
}

/** Finds a claimed run's tool, and the rights that its caller has now. */
export type FindRun = (
  claim: Claim,
  beginning: RunBeginning,
) => Promise<ClaimedWork>;

/** The claim on a run, and the steps that earlier runs have done. */
export interface DurableState {
  claim: Claim;
  steps: readonly Step[];
  version: number;
}

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

/** The texts for the client about work that waits in no process. */
export const WAITS_FOR_OTHERS = "Waits for its turn among other work";
export const WAITS_FOR_NEXT_TRY =
  "The server cannot go on with it now, and tries again";
export const PAUSED = "Its connection is paused";

/** Says that work waits until other calls of its tool have ended. */
export function waitsForTurn(tool: string): string {
  return `Waits for its turn among the calls of ${tool}`;
}

type Told = Pick<TaskParts, "log" | "showsCauses">;

export function resultEnding(result: CallToolResult): SettledTask {
  return { result, outcome: result.isError ? "tool_error" : "ok" };
}

/** Makes the end of a task from an exception. Never throws. */
export function failedTaskEnding(
  thrown: unknown,
  taskId: string,
  parts: Told,
): SettledTask {
  const failed = {
    ...parts,
    reference: taskId,
    isTool: true,
    isStatusSent: true,
  };
  return answerFailure(thrown, failed, (failure) => failure);
}

/**
 * Makes the end of a task from an exception. Undefined if another process
 * resumes the work.
 */
export function endingOf(
  error: unknown,
  taskId: string,
  parts: Told,
): SettledTask | undefined {
  if (isInstance(error, Parked)) return undefined;
  if (isInstance(error, Expelled)) return EXPELLED;
  if (!isInstance(error, DivergenceError)) {
    return failedTaskEnding(error, taskId, parts);
  }
  parts.log.error("Durable work cannot go on", { reference: taskId, error });
  const message =
    `The tool has changed since this work began (reference ${taskId})`;
  return {
    outcome: "internal_error",
    error: { code: RpcCode.internalError, message },
  };
}

export function taskEndOf({ result, error, outcome }: SettledTask): TaskEnd {
  const isRefused = outcome === "refused";
  return result
    ? { status: "completed", outcome: result as JsonObject, isRefused }
    : {
      status: "failed",
      outcome: { ...error },
      isCut: outcome === EXPELLED.outcome,
    };
}

/** The minimum time between two writes of a status message. */
const MESSAGE_MILLISECONDS = 1000;

/**
 * The status message of one task, written at most once a second. The last one
 * is never lost.
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
   * Sets a new message. Resolves when it is written, or queued for {@linkcode
   * MESSAGE_MILLISECONDS}.
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

  async write(): Promise<void> {
    if (this.#waiting !== undefined) await this.#flush();
  }

  /** Stops writing, and returns the message that was still queued. */
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

/** Formats progress as `3 of 9: indexing`, omitting unknown parts. */
export function printProgress(
  { message, progress, total }: JsonObject,
): string | undefined {
  const words = typeof message === "string" ? message : undefined;
  if (total === undefined) return words;
  return [`${progress} of ${total}`, words].filter(Boolean).join(": ");
}
