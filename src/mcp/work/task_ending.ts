/**
 * The end of a task on its way into the database.
 *
 * @module
 */
import { HttpError } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import { persist } from "../../store/persist.ts";
import type { TaskEnd } from "../../store/tasks.ts";
import { failedEnding, type SettledTask, stateOf } from "./task_state.ts";

/**
 * Stores the end of a task, for as long as the database is away; a result that
 * JSON cannot hold becomes a failure. Gives the end that was meant to be
 * stored, and whether it was.
 *
 * @param save stores an end; false if the task has ended before
 */
export async function storeEnding(
  ending: SettledTask,
  { taskId, statusMessage, signal, log }: {
    taskId: string;
    statusMessage: string | undefined;
    signal: AbortSignal;
    log: Logger;
  },
  save: (end: TaskEnd) => Promise<boolean>,
): Promise<{ ending: SettledTask; isSaved: boolean }> {
  const store = async (ending: SettledTask) => ({
    ending,
    isSaved: await persist(
      () => save({ ...stateOf(ending), statusMessage }),
      { signal },
    ),
  });
  return await store(ending).catch((error) => {
    if (error instanceof HttpError) throw error;
    return store(failedEnding(error, taskId, log));
  });
}
