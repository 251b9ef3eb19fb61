/**
 * The watch over a task at work: its lease, its permission, and its record,
 * which its client may end at any process.
 *
 * @module
 */
import type { Logger } from "../../log/log.ts";
import { HEARTBEAT_SECONDS } from "../../store/leases.ts";
import type { TaskStore } from "../../store/tasks.ts";
import {
  CANCELLED,
  EXPELLED,
  type SettledTask,
  STOPPED,
} from "./task_state.ts";

/**
 * The time after which a task's permission is checked again, in milliseconds.
 */
const LIVE_MILLISECONDS = 1000;

/**
 * Watches a task until the function that it gives is called.
 *
 * @param end is called when the task must end
 */
export function watchTask(
  taskId: string,
  { tasks, log }: {
    tasks: Pick<TaskStore, "renewLease" | "ended">;
    log: Logger;
  },
  isAllowed: () => Promise<boolean>,
  end: (ending: SettledTask) => void,
): () => Promise<void> {
  const every = (
    milliseconds: number,
    goesOn: () => Promise<boolean>,
    ending: SettledTask,
    complaint: string,
  ) =>
    setInterval(async () => {
      try {
        if (!await goesOn()) end(ending);
      } catch (error) {
        log.warning(complaint, { reference: taskId, error });
      }
    }, milliseconds);
  const renew = () => tasks.renewLease(taskId);
  const timers = [
    every(HEARTBEAT_SECONDS * 1000, renew, STOPPED, UNRENEWED),
    every(LIVE_MILLISECONDS, isAllowed, EXPELLED, UNREAD),
  ];
  const watching = new AbortController();
  // If this fails, the heartbeat notices the end a little later.
  const watched = tasks.ended(taskId, watching.signal).then(
    () => end(CANCELLED),
    () => {},
  );
  return async () => {
    for (const timer of timers) clearInterval(timer);
    watching.abort();
    await watched;
  };
}

const UNRENEWED = "A task's lease could not be renewed";
const UNREAD = "A task's grant could not be read";
