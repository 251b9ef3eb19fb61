/**
 * A task that this process works on: its lease, its permission, its record,
 * which its client may end at any process, and its way to its end.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Caller } from "../../caller.ts";
import { HttpError } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import { HEARTBEAT_SECONDS } from "../../store/leases.ts";
import { persist } from "../../store/persist.ts";
import type { TaskEnd } from "../../store/task_end.ts";
import type { TaskStore } from "../../store/tasks.ts";
import { fire } from "../exchange/authored_run.ts";
import { LIVE_MILLISECONDS } from "../exchange/running.ts";
import {
  CANCELLED,
  EXPELLED,
  failedEnding,
  resultEnding,
  type SettledTask,
  STOPPED,
  taskEndOf,
} from "./task_state.ts";
import type { TaskRequest, WorkOfTask } from "./work_of_task.ts";

interface Around {
  tasks: TaskStore;
  log: Logger;
  /** Fires when no end waits for the database any more. */
  stopping: AbortSignal;
  /** The turn at durable work; absent: other processes leave it alone. */
  turn?: Turn;
}

/** The turn at durable work, which another process may take over. */
interface Turn {
  renew(): Promise<boolean>;
  /** Stores an end; false if the task has ended, or the turn is lost. */
  end(end: TaskEnd): Promise<boolean>;
  /** Makes the end of what was thrown; undefined: the work goes on elsewhere. */
  endingOf(error: unknown): SettledTask | undefined;
}

export class TaskAtWork {
  readonly #abort = new AbortController();
  readonly #around: Around;
  /** Its end if its signal fires; undefined: the work goes on elsewhere. */
  #onAbort?: SettledTask;

  constructor(
    readonly taskId: string,
    around: Around,
    private readonly caller: Caller,
    private readonly request: TaskRequest,
  ) {
    this.#around = around;
    this.#onAbort = around.turn ? undefined : STOPPED;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Fires the signal that its tool was given. */
  fire(reason: string): void {
    const { log } = this.#around;
    fire(this.#abort, reason, { log, reference: () => this.taskId });
  }

  /** True as long as a grant of its person holds: its own, or the last used. */
  async isAllowed(): Promise<boolean> {
    const { caller, taskId } = this;
    const { authenticated } = this.request;
    // Not the session of a 2025 client, which its task outlives.
    if (await authenticated.isLive?.() ?? true) return true;
    const grantId = await this.#around.tasks.userOf(taskId, caller.binding);
    return await authenticated.isLive?.(grantId) === true;
  }

  /** Does the work, and ends the task with what it gives or throws. */
  async lead(
    own: WorkOfTask,
    work: () => Promise<CallToolResult>,
  ): Promise<void> {
    const { signal, taskId } = this;
    const { log, turn } = this.#around;
    const { authored, durable, status } = own;
    const stopWatching = this.#watch();
    try {
      const ending = await orAborted(signal, async () => {
        const result = await authored.wait(work());
        durable?.end();
        return result;
      }).then(resultEnding, (error) => {
        if (signal.aborted) return this.#onAbort;
        return turn ? turn.endingOf(error) : failedEnding(error, taskId, log);
      });
      durable?.rest.end();
      const statusMessage = await status.end();
      if (ending) await this.end(ending, statusMessage);
    } finally {
      await stopWatching();
      // Parallel work of the tool ends too.
      if (durable || authored.reason !== undefined) {
        this.fire("The run has ended");
      }
    }
  }

  /** Stores the end of the task, and reports it. */
  async end(settled: SettledTask, statusMessage?: string): Promise<void> {
    const { taskId, caller, request } = this;
    const { tasks, log, turn, stopping } = this.#around;
    const save = async (ending: SettledTask) => ({
      ending,
      isSaved: await this.#save({ ...taskEndOf(ending), statusMessage }),
    });
    const { ending, isSaved } = await save(settled).catch((error) => {
      if (error instanceof HttpError) {
        // It may be stored all the same: better twice than never.
        request.endTask(taskId, settled.outcome);
        throw error;
      }
      // A result that JSON cannot hold.
      return save(failedEnding(error, taskId, log));
    });
    if (isSaved) return request.endTask(taskId, ending.outcome);
    // Of durable work, the process that has ended it reports that.
    if (turn) return;
    // One that had ended already was ended by its client.
    const found = await persist(
      () => tasks.find(taskId, caller.binding),
      { signal: stopping },
    ).catch(() => undefined);
    const isCancelled = found?.status === "cancelled";
    request.endTask(taskId, isCancelled ? "cancelled" : ending.outcome);
  }

  /** Stores an end, for as long as the database is away. */
  async #save(end: TaskEnd): Promise<boolean> {
    const { tasks, turn, stopping: signal } = this.#around;
    return await persist(
      () => turn ? turn.end(end) : tasks.end(this.taskId, end),
      { signal },
    );
  }

  /** Watches the task until the function that it gives is called. */
  #watch(): () => Promise<void> {
    const { taskId } = this;
    const { tasks, log, turn } = this.#around;
    const end = (ending?: SettledTask) => {
      if (this.signal.aborted) return;
      this.#onAbort = ending;
      this.fire("The task has ended");
    };
    const every = (
      milliseconds: number,
      goesOn: () => Promise<boolean>,
      ending: SettledTask | undefined,
      complaint: string,
    ) =>
      setInterval(async () => {
        try {
          if (!await goesOn()) end(ending);
        } catch (error) {
          log.warning(complaint, { reference: taskId, error });
        }
      }, milliseconds);
    const renew = () => turn ? turn.renew() : tasks.renewLease(taskId);
    const timers = [
      every(HEARTBEAT_SECONDS * 1000, renew, this.#onAbort, UNRENEWED),
      every(LIVE_MILLISECONDS, () => this.isAllowed(), EXPELLED, UNREAD),
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
}

const UNRENEWED = "A task's lease could not be renewed";
const UNREAD = "A task's grant could not be read";

/** Does work, but waits no longer for a tool that ignores its signal. */
async function orAborted<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason));
  return await Promise.race([work(), aborted]);
}
