/**
 * The tasks that this process works on.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Authenticated, Caller } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import { randomId } from "../../crypto/crypto.ts";
import { HttpError, LimitError } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import type { Task, TaskStore } from "../../store/tasks.ts";
import type { Outcome } from "../../log/outcome.ts";
import type { Context } from "../../authoring/context.ts";
import { fire } from "../exchange/abort.ts";
import type { AuthoredRun } from "../exchange/authored_run.ts";
import { CallerBound } from "../exchange/caller_bound.ts";
import { type CountedAs, MANY } from "../exchange/counted_as.ts";
import { CallContext } from "../exchange/call_context.ts";
import type { Work } from "../exchange/work.ts";
import type { Running } from "../exchange/running.ts";
import { tidy } from "../../store/persist.ts";
import {
  endingOf,
  failedEnding,
  type SettledTask,
  STOPPED,
} from "./task_state.ts";
import { storeEnding } from "./task_ending.ts";
import { isTaskAllowed } from "./task_permission.ts";
import { watchTask } from "./task_watch.ts";
import { type Recalled, WorkOfTask } from "./work_of_task.ts";

const STOPPING = "The server stops";

/** The way to stop one task. */
export class TaskAbort extends AbortController {
  constructor(readonly taskId: string) {
    super();
  }
}

/** The most tasks that one caller may have running in one process. */
export const TASKS_PER_CALLER = 100;

/**
 * The most tasks of a person or a list that are stored, in any state, for a
 * day.
 */
export const TASKS_KEPT = 1000;

/**
 * The seconds after which to try again: stored tasks expire one by one, in the
 * order of their calls.
 */
const KEPT_RETRY_SECONDS = 600;

/**
 * Chooses the list that counts a new task. A caller that may be many people has
 * many lists, filled evenly, so that counting one costs no more than a
 * person's.
 */
export function listOf({ binding }: Caller, countedAs?: CountedAs): string {
  if (!countedAs?.isMany) return binding;
  return `${countedAs.name} ${Math.floor(Math.random() * MANY)}`;
}

/** The refusal of a new task while the server stops. */
export function serverStopping(): HttpError {
  return new HttpError(503, "The server is stopping", { "retry-after": "5" });
}

/** @throws {LimitError} when a list has as many tasks as are stored */
export async function checkRoom(
  tasks: Pick<TaskStore, "hasMany">,
  list: string,
): Promise<void> {
  if (!await tasks.hasMany(list, TASKS_KEPT)) return;
  throw new LimitError("stored tasks", KEPT_RETRY_SECONDS);
}

/** The tool that works in a task. */
interface WorkingTool {
  name: string;
  scopes?: readonly string[];
}

/** The work of a task: it gives its result, or throws. */
export type TaskWork = (context: Context) => Promise<CallToolResult>;

/** A request that becomes a task. */
export interface Beginning extends Work, Pick<Running, "countedAs"> {
  readonly authenticated: Authenticated;
  /**
   * Records the end of the task in the log, and for the person in whose name it
   * ran.
   */
  endTask(taskId: string, outcome: Outcome): void;
}

/** A call that runs, and its way to become a task. */
export interface Begun extends Recalled {
  readonly request: Beginning;
  /** The code that its context waits for. */
  readonly authored: AuthoredRun;
  /** The result of its tool. */
  readonly result: Promise<CallToolResult>;
  /** The progress of its tool so far. */
  readonly statusMessage?: string;
  /** Fires the signal that its tool was given. */
  stop(reason: string): void;
  /**
   * Answers the call with the task, and lets its context speak for that. False
   * if the call has ended meanwhile, or must not become a task now.
   */
  take(task: Task, work: Work): boolean;
}

/** The tasks that this process works on. */
export class TaskRunner {
  /** Tasks that are being created or at work, and their ends. */
  #running = new Map<TaskAbort, Promise<void>>();
  /** Tasks that wait for a person. */
  #asking = new Set<TaskAbort>();
  #isRefusing = false;
  #stopping = new AbortController();

  #bound = new CallerBound(TASKS_PER_CALLER, "tasks at a time");

  constructor(
    private readonly tasks: TaskStore,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** Open questions. */
    private readonly questions: CallerBound,
  ) {}

  get size(): number {
    return this.#running.size;
  }

  /**
   * Creates a task for a request and begins to work on it. Reading it later
   * needs the same scopes.
   *
   * @throws {HttpError} 503 when the server stops, 429 when the caller has too
   * many
   */
  async start(
    request: Beginning,
    tool: WorkingTool,
    work: TaskWork,
  ): Promise<Task> {
    return await this.#begin(request, tool, (abort) => {
      const own = this.#workOf(abort, request);
      return this.#work(own, abort, request, () => work(new CallContext(own)));
    });
  }

  /**
   * Lets a running call become a task, which is stored before the call is
   * answered, and deleted again where that is not possible any more.
   *
   * @throws as {@linkcode start}; the call then goes on as it was
   */
  async adopt(begun: Begun, tool: WorkingTool): Promise<void> {
    const { request } = begun;
    await this.#begin(request, tool, async (abort, task, list) => {
      const { signal, taskId } = abort;
      const { statusMessage } = begun;
      const own = this.#workOf(abort, request, begun);
      if (signal.aborted || !begun.take({ ...task, statusMessage }, own)) {
        return await tidy(() => this.tasks.discard(taskId, list));
      }
      signal.addEventListener("abort", () => {
        begun.stop((signal.reason as Error).message);
      }, { once: true });
      if (statusMessage !== undefined) {
        own.status.tell(statusMessage).catch(() => {});
      }
      await this.#work(own, abort, request, () => begun.result);
    });
  }

  /** Creates a task, and gives it to `work` in the same turn. */
  async #begin(
    request: Beginning,
    tool: WorkingTool,
    work: (abort: TaskAbort, task: Task, list: string) => Promise<void>,
  ): Promise<Task> {
    if (this.#isRefusing) throw serverStopping();
    const { caller, countedAs } = request;
    this.#bound.take(countedAs);
    const abort = new TaskAbort(randomId(24));
    const list = listOf(caller, countedAs);
    const created = this.#create(abort, request, tool, list);
    const done = created.then(
      (task) =>
        work(abort, task, list).catch((error) =>
          this.log.error("A task could not be ended", {
            reference: abort.taskId,
            error,
          })
        ),
      // Told to who asked for it.
      () => {},
    ).finally(() => {
      this.#running.delete(abort);
      this.#bound.release(countedAs);
    });
    // From here on a stop finds it, wherever it is.
    this.#running.set(abort, done);
    return await created;
  }

  async #create(
    { taskId }: TaskAbort,
    { caller, countedAs }: Beginning,
    { name: tool, scopes }: WorkingTool,
    list: string,
  ): Promise<Task> {
    if (countedAs) await checkRoom(this.tasks, list);
    return await this.tasks.create(taskId, caller, { tool, scopes, list });
  }

  /** Refuses new tasks from now on. */
  refuse(): void {
    this.#isRefusing = true;
    for (const abort of this.#asking) this.#fire(abort, STOPPING);
  }

  /**
   * Ends every task of this process as failed, and waits until that is stored.
   */
  async stop(): Promise<void> {
    this.refuse();
    this.#stopping.abort();
    for (const abort of this.#running.keys()) this.#fire(abort, STOPPING);
    await Promise.all(this.#running.values());
  }

  #fire(abort: TaskAbort, reason: string): void {
    fire(abort, reason, { log: this.log, reference: () => abort.taskId });
  }

  /** Notes that a task waits for a person, until that is over. */
  #wait(abort: TaskAbort): () => void {
    if (this.#isRefusing) this.#fire(abort, STOPPING);
    this.#asking.add(abort);
    return () => this.#asking.delete(abort);
  }

  /** @param begun the call that becomes the task, if it is one */
  #workOf(
    abort: TaskAbort,
    request: Beginning,
    begun?: Pick<Begun, "authored" | "recall">,
  ): WorkOfTask {
    const { tasks, questions, clock, log } = this;
    return new WorkOfTask(abort.taskId, request, {
      tasks,
      questions,
      signal: abort.signal,
      clock,
      log,
      wait: () => this.#wait(abort),
      begun,
    });
  }

  async #work(
    own: WorkOfTask,
    abort: TaskAbort,
    request: Beginning,
    work: () => Promise<CallToolResult>,
  ): Promise<void> {
    const { tasks, log } = this;
    const { signal, taskId } = abort;
    let onAbort = STOPPED;
    const stopWatching = watchTask(
      taskId,
      { tasks, log },
      () => isTaskAllowed(this.tasks, taskId, request),
      (ending) => {
        if (signal.aborted) return;
        onAbort = ending;
        this.#fire(abort, "The task has ended");
      },
    );
    try {
      const ending = await orAborted(
        signal,
        () => own.authored.wait(work()),
      ).then(
        endingOf,
        (error) => signal.aborted ? onAbort : failedEnding(error, taskId, log),
      );
      const statusMessage = await own.status.end();
      await this.#save(taskId, request, ending, statusMessage);
    } finally {
      await stopWatching();
      // Parallel work of a tool ends too.
      if (own.authored.reason !== undefined) this.#fire(abort, STOPPING);
    }
  }

  /** Stores the end of a task, and reports it. */
  async #save(
    taskId: string,
    request: Beginning,
    settled: SettledTask,
    statusMessage: string | undefined,
  ): Promise<void> {
    const { ending, isSaved } = await storeEnding(
      settled,
      { taskId, statusMessage, signal: this.#stopping.signal, log: this.log },
      (end) => this.tasks.end(taskId, end),
    );
    // One that had ended already was ended by its client.
    const found = isSaved
      ? undefined
      : await this.tasks.find(taskId, request.caller.binding).catch(() => {});
    const wasCancelled = found?.status === "cancelled";
    request.endTask(taskId, wasCancelled ? "cancelled" : ending.outcome);
  }
}

/** Does work, but waits no longer for a tool that ignores its signal. */
export async function orAborted<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return await Promise.race([work(), aborted]);
}
