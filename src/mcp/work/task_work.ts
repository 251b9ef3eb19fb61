/**
 * The work of a tool in a task, and the call that the task came from.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Context } from "../../authoring/context.ts";
import type { Authenticated } from "../../caller.ts";
import type { JsonObject } from "../../json.ts";
import type { Outcome } from "../../log/request.ts";
import type { Claim, RunBeginning } from "../../store/run_record.ts";
import type { Task } from "../../store/tasks.ts";
import type { Call } from "../exchange/call.ts";
import type { CountedAs } from "../exchange/caller_bound.ts";
import type { Work } from "../exchange/work.ts";

/** The call that a task came from, or as much of it as another process knows. */
export interface TaskOrigin extends
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
  /** The identity by which limits count its caller. */
  readonly countedAs?: CountedAs;
  /** Tells the progress of the task to a client whose call waits for it. */
  relayProgress?(progress: JsonObject): Promise<void>;
  /** Records the end of the task in the log, and for its person. */
  endTask(taskId: string, outcome: Outcome): void;
}

/** The request of a call that becomes a task while its tool runs. */
export type BegunCall = Pick<Call, "authored" | "recall" | "stop">;

/** A call that runs, and its way to become a task. */
export interface Begun {
  readonly request: TaskOrigin & BegunCall;
  readonly result: Promise<CallToolResult>;
  /** The progress of its tool so far. */
  readonly statusMessage?: string;
  /**
   * Answers the call with the task, and lets its context speak for that. False
   * if the call has ended meanwhile, or must not become a task now.
   */
  take(task: Task, work: Work): boolean;
}

/** The work of a tool. It ends with its process, unless it is durable. */
export interface TaskWork {
  tool: string;
  /** The scopes that the tool needs, as does reading the task later. */
  scopes?: readonly string[];
  /** Gives its result, or throws. */
  run(context: Context): Promise<CallToolResult>;
}

/** The beginning of work whose steps are kept. */
export interface DurableStart {
  /** The seconds for which its result stays. */
  keep: number;
  /** The version of its steps. */
  version: number;
  /** The address that it belongs to. */
  address: string;
  beginning: RunBeginning;
}

/** Work whose steps are kept, as a process goes on with it. */
export interface DurableWork extends TaskWork {
  version: number;
  /**
   * Takes a place among the calls of a tool with `callsAtOnce`, and gives the
   * function that leaves it; undefined if there is none.
   */
  enter?(countedAs: CountedAs | undefined): (() => void) | undefined;
}

/** Durable work that another process began. */
export interface Resumed {
  /** Undefined where its tool is not known. */
  work?: DurableWork;
  origin: TaskOrigin;
  /** False if its caller may not do this any more. */
  isAllowed: boolean;
}

/** Finds the tool of a claimed run, and its caller by what is known of them now. */
export type Resume = (
  claim: Claim,
  beginning: RunBeginning,
) => Promise<Resumed>;
