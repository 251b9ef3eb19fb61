/**
 * A run of durable work in this process, from its turn to its end here.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Context } from "../../authoring/context.ts";
import { RpcCode } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import type { Database } from "../../store/database.ts";
import type { Hold, RunBeginning } from "../../store/run_record.ts";
import type { StepFailureStore } from "../../store/step_failures.ts";
import { nameOfStep, type Step, type StepStore } from "../../store/steps.ts";
import type { TaskRunStore } from "../../store/task_runs.ts";
import type { TaskEnd, TaskStore } from "../../store/tasks.ts";
import type { WaitStore } from "../../store/waits.ts";
import { CallContext } from "../exchange/call_context.ts";
import { DurableRun } from "./durable_run.ts";
import { Expelled } from "./run_memory.ts";
import { Left } from "./run_rest.ts";
import { DivergenceError } from "./step_order.ts";
import { TaskAtWork } from "./task_at_work.ts";
import { EXPELLED, failedEnding, type SettledTask } from "./task_state.ts";
import { type TaskRequest, WorkOfTask } from "./work_of_task.ts";

export interface DurableWork {
  tool: string;
  scopes: readonly string[];
  /** The seconds for which its result stays. */
  keep: number;
  /** The version of its steps. */
  version: number;
  /**
   * Takes a place among the calls of a tool with `callsAtOnce`, and gives the
   * function that leaves it; undefined if there is none.
   */
  enter?(countedAs: TaskRequest["countedAs"]): (() => void) | undefined;
  run(beginning: RunBeginning, context: Context): Promise<CallToolResult>;
}

/** Work that another process began, with a request in place of its call. */
export interface Resumed {
  /** Undefined where its tool is not known. */
  work?: DurableWork;
  request: TaskRequest;
  /** False if its caller may not do this any more. */
  isAllowed: boolean;
}

export interface RunStores {
  database: Database;
  tasks: TaskStore;
  runs: TaskRunStore;
  steps: StepStore;
  failures: StepFailureStore;
  waits: WaitStore;
  log: Logger;
  /** Fires when the server stops. */
  stopping: AbortSignal;
}

export class RunAtWork {
  readonly run: DurableRun;
  readonly task: TaskAtWork;
  readonly #own: WorkOfTask;

  constructor(
    private readonly stores: RunStores,
    readonly hold: Hold,
    steps: readonly Step[],
    private readonly resumed: { work: DurableWork; request: TaskRequest },
  ) {
    const { database, tasks, runs, waits, log } = stores;
    const { work: { version }, request } = resumed;
    const { taskId, run: { tool, address } } = hold;
    const task = this.task = taskOfRun(stores, hold, request);
    const { signal } = task;
    this.run = new DurableRun({
      hold,
      steps,
      version,
      signal,
      now: () => database.now(),
      save: (step) => this.#save(step),
      park: async (dueSeconds, questions, waitsFor) => {
        // The next run does not repeat it.
        await this.#own.status.write();
        return await runs.park(hold, dueSeconds, questions, { waitsFor });
      },
      isAllowed: () => task.isAllowed(),
      cut: (reason) => this.#own.authored.cut(reason),
    });
    const { run, stores: { database: { clock } } } = this;
    this.#own = new WorkOfTask(taskId, request, {
      tasks,
      signal,
      clock,
      log,
      durable: { run, waits, tool, address },
    });
  }

  /** Does the work until it ends, or leaves this process. */
  async lead(beginning: RunBeginning): Promise<void> {
    const { resumed: { work }, stores: { log }, hold: { taskId } } = this;
    const context = new CallContext(this.#own);
    await this.task.lead(this.#own, () => work.run(beginning, context)).catch(
      (error) =>
        log.error("A task could not be ended", { reference: taskId, error }),
    );
  }

  /** Keeps a step, and counts its failure as well. */
  async #save(step: Step): Promise<boolean> {
    const { stores: { steps, failures }, hold } = this;
    const isSaved = await steps.save(hold, step);
    if (step.error) {
      failures.note({ tool: hold.run.tool, step: nameOfStep(step.id) });
    }
    return isSaved;
  }
}

/** Makes the task of a run whose turn is this process's. */
export function taskOfRun(
  { tasks, runs, log, stopping }: RunStores,
  hold: Hold,
  request: TaskRequest,
): TaskAtWork {
  const { taskId, run: { caller } } = hold;
  const turn = {
    renew: () => runs.renew(hold),
    end: (end: TaskEnd) => tasks.end(taskId, end, hold),
    endingOf: (error: unknown) => endingOf(error, taskId, log),
  };
  const around = { tasks, log, stopping, turn };
  return new TaskAtWork(taskId, around, caller, request);
}

/** Makes the end of what a run has thrown; undefined if it goes on elsewhere. */
function endingOf(
  error: unknown,
  taskId: string,
  log: Logger,
): SettledTask | undefined {
  if (error instanceof Left) return undefined;
  if (error instanceof Expelled) return EXPELLED;
  if (!(error instanceof DivergenceError)) {
    return failedEnding(error, taskId, log);
  }
  log.error("Durable work cannot go on", { reference: taskId, error });
  const message =
    `The tool has changed since this work began (reference ${taskId})`;
  return {
    outcome: "internal_error",
    error: { code: RpcCode.internalError, message },
  };
}
