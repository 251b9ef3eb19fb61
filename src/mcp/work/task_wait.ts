/**
 * The wait of a call for a task: until it ends or needs someone, and no longer
 * than a client waits. Its questions are put to the client meanwhile.
 *
 * @module
 */
import { isTerminal } from "../../store/task_record.ts";
import type { Task } from "../../store/tasks.ts";
import type { Call } from "../exchange/call.ts";
import { sendsToPage } from "../exchange/visits.ts";
import type { TaskRelay } from "./task_relay.ts";

/**
 * Waits until a task has ended, has another status, sends its person to a page,
 * or the time is over; gives it as it is then, and undefined if it is gone. A
 * person may take longer to answer its questions.
 *
 * @param relay asks the client; without one a question ends the wait
 * @throws the reason for which the call was stopped
 */
export async function waitForTask(
  call: Call,
  task: Task,
  { untilMilliseconds, relay }: {
    untilMilliseconds: number;
    relay?: TaskRelay;
  },
): Promise<Task | undefined> {
  const { engine: { tasks, waitPages }, caller: { binding }, signal } = call;
  const over = new AbortController();
  call.lasting = {
    beat(nowMilliseconds) {
      const until = Math.max(untilMilliseconds, relay?.untilMilliseconds ?? 0);
      if (nowMilliseconds >= until && !call.isAsking) over.abort();
    },
  };
  const waiting = AbortSignal.any([signal, over.signal]);
  let seen = task;
  try {
    while (!isTerminal(seen.status)) {
      const isAsked = relay?.ask(seen) ?? false;
      const isNews = seen.status !== task.status || relay === undefined;
      if (seen.status === "input_required" && !isAsked && isNews) break;
      const { statusMessage } = seen;
      const isTold = statusMessage === task.statusMessage;
      if (!isTold && sendsToPage(statusMessage, waitPages)) break;
      const next = await tasks.next(seen, binding, waiting);
      if (next === undefined) return undefined;
      seen = next;
    }
  } catch (error) {
    if (signal.aborted || !over.signal.aborted) throw error;
  } finally {
    call.lasting = undefined;
    relay?.end();
  }
  return seen;
}
