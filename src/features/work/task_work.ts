/**
 * The work of a tool in a task, the call that the task came from, and the parts
 * that all tasks of a process share.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Context } from "../../authoring/context.ts";
import type { Authenticated } from "../../core/caller.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Logger } from "../../core/log/log.ts";
import type { Outcome } from "../../core/log/request.ts";
import type { Database } from "../../core/kv/database.ts";
import type { Claim, RunBeginning } from "./run_record.ts";
import type { StepFailureStore } from "./step_failures.ts";
import type { Step, StepStore } from "./steps.ts";
import type { TaskRunStore } from "./task_runs.ts";
import type { Task, TaskStore } from "./tasks.ts";
import type { WaitStore } from "../questions/waits.ts";
import type { Call } from "../../core/mcp/exchange/call.ts";
import type {
  CallerBound,
  LimitKey,
} from "../../core/mcp/exchange/caller_bound.ts";
import type { MessageHolder } from "../../core/mcp/exchange/long_messages.ts";
import type { Work } from "../../core/mcp/exchange/work.ts";

/** The parts that all tasks of a process share. */
export interface TaskParts {
  database: Database;
  tasks: TaskStore;
  runs: TaskRunStore;
  steps: StepStore;
  failures: StepFailureStore;
  waits: WaitStore;
  /** The bound on open questions of plain tasks. */
  questions: CallerBound;
  log: Logger;
  /** True in development: clients are given the causes of internal errors. */
  showsCauses?: boolean;
  /** Fires when the process stops: no end of a task then waits to be stored. */
  stopping: AbortSignal;
}

/** The call that began a task, as far as this process knows it. */
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
  > {
  readonly authenticated: Authenticated;
  /** Sends the progress of the task to a client whose call waits for it. */
  relayProgress?(progress: JsonObject): Promise<void>;
  /** Records the end of the task in the log, and for its person. */
  endTask(taskId: string, outcome: Outcome): void;
}

/** The request of a call that becomes a task while its tool runs. */
export interface OriginCall extends Pick<Call, "authorCode" | "recall"> {
  readonly execution: Pick<Call["execution"], "interrupt">;
}

/** A running call that can become a task. */
export interface CallInProgress {
  readonly request: TaskOrigin & OriginCall;
  readonly result: Promise<CallToolResult>;
  /**
   * The name under which repeats of the call find its task. Undefined if the
   * result is not reached by a repeat.
   */
  readonly repeat?: string;
  /** False if someone else may get the result: then no one may be asked. */
  readonly mayAsk: boolean;
  /** The latest progress of the call's tool. */
  readonly statusMessage?: string;
  /**
   * Answers the call with the task, and connects the tool's context to it.
   * Returns false if the call has ended meanwhile, or must not become a task
   * now.
   */
  take(task: Task, work: Work): boolean;
}

/** The work of a tool. It ends with its process, unless it is durable. */
export interface TaskWork {
  tool: string;
  /** The scopes that the tool needs, as does reading the task later. */
  scopes?: readonly string[];
  /** True if the tool acts with its person's accounts. */
  needsAccounts?: true;
  run(context: Context): Promise<CallToolResult>;
}

/** The stored start of durable work. */
export interface DurableStart {
  /** The seconds for which the result is stored. */
  keep: number;
  /** The version of the tool's steps. */
  version: number;
  /** The server address that the work belongs to. */
  address: string;
  beginning: RunBeginning;
}

/** Durable work, as a process goes on with it. */
export interface DurableWork extends TaskWork {
  version: number;
  /**
   * Takes one of the `callsAtOnce` places of a tool. Returns the function that
   * frees it, or undefined if all are taken.
   */
  enter?(limitKey: LimitKey | undefined): (() => void) | undefined;
}

/** Durable work that another process began. */
export interface ClaimedWork {
  /** The work; undefined if this process does not know its tool, or `lacks`. */
  work?: DurableWork;
  /** A setting that the tool needs for accounts, and that is missing here. */
  lacks?: string;
  origin: TaskOrigin;
  /** True if the caller may still do the work. */
  isAllowed: boolean;
  /** False if only another process may know the caller's provider or issuer. */
  isConfigured: boolean;
}

/** Finds the tool of a claimed run, and the present rights of its caller. */
export type Resume = (
  claim: Claim,
  beginning: RunBeginning,
) => Promise<ClaimedWork>;

/** Durable work as this process goes on with it. */
export interface DurableState {
  claim: Claim;
  /** The steps of earlier runs. */
  steps: readonly Step[];
  version: number;
}
