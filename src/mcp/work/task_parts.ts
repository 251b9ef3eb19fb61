/**
 * The parts that all tasks of a process share.
 *
 * @module
 */
import type { Logger } from "../../log/log.ts";
import type { Database } from "../../store/database.ts";
import {
  type StepFailureStore,
  stepFailureStore,
} from "../../store/step_failures.ts";
import { type StepStore, stepStore } from "../../store/steps.ts";
import { type TaskRunStore, taskRunStore } from "../../store/task_runs.ts";
import type { TaskStore } from "../../store/tasks.ts";
import { type WaitStore, waitStore } from "../../store/waits.ts";
import type { CallerBound } from "../exchange/caller_bound.ts";

interface ServerDependencies {
  database: Database;
  tasks: TaskStore;
  /** The bound on open questions of plain tasks. */
  questions: CallerBound;
  log: Logger;
  /**
   * Fires when the process stops: from then on no task waits for the database
   * to store its end.
   */
  stopping: AbortSignal;
}

export interface TaskParts extends ServerDependencies {
  runs: TaskRunStore;
  steps: StepStore;
  failures: StepFailureStore;
  waits: WaitStore;
}

/** @param options the options of the store of runs */
export function openTaskParts(
  given: ServerDependencies,
  options?: Parameters<typeof taskRunStore>[1],
): TaskParts {
  const { database, log } = given;
  return {
    ...given,
    runs: taskRunStore(database, options),
    steps: stepStore(database),
    failures: stepFailureStore(database, log),
    waits: waitStore(database),
  };
}
