/**
 * The tasks that this process works on.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Clock } from "../../clock.ts";
import { randomId } from "../../crypto/crypto.ts";
import type { Logger } from "../../log/log.ts";
import { tidy } from "../../store/persist.ts";
import type { Task, TaskStore } from "../../store/tasks.ts";
import type { Context } from "../../authoring/context.ts";
import type { Call } from "../exchange/call.ts";
import type { CallerBound } from "../exchange/caller_bound.ts";
import { CallContext } from "../exchange/call_context.ts";
import { STOPPING } from "../exchange/running.ts";
import type { Work } from "../exchange/work.ts";
import { TaskAtWork } from "./task_at_work.ts";
import { TaskRoom } from "./task_room.ts";
import { type TaskRequest, WorkOfTask } from "./work_of_task.ts";

interface WorkingTool {
  name: string;
  scopes?: readonly string[];
}

/** The work of a task: it gives its result, or throws. */
export type TaskWork = (context: Context) => Promise<CallToolResult>;

/** A call that runs, and its way to become a task. */
export interface Begun {
  readonly request: TaskRequest & Pick<Call, "authored" | "recall" | "stop">;
  readonly result: Promise<CallToolResult>;
  /** The progress of its tool so far. */
  readonly statusMessage?: string;
  /**
   * Answers the call with the task, and lets its context speak for that. False
   * if the call has ended meanwhile, or must not become a task now.
   */
  take(task: Task, work: Work): boolean;
}

export class TaskRunner {
  /** Tasks that are being created or at work, and their ends. */
  #running = new Map<TaskAtWork, Promise<void>>();
  /** Tasks that wait for a person. */
  #asking = new Set<TaskAtWork>();
  #stopping = new AbortController();
  #room: TaskRoom;

  constructor(
    private readonly tasks: TaskStore,
    private readonly clock: Clock,
    private readonly log: Logger,
    private readonly questions: CallerBound,
  ) {
    this.#room = new TaskRoom(tasks);
  }

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
    request: TaskRequest,
    tool: WorkingTool,
    work: TaskWork,
  ): Promise<Task> {
    return await this.#begin(request, tool, (atWork) => {
      const own = this.#workOf(atWork, request);
      return atWork.lead(own, () => work(new CallContext(own)));
    });
  }

  /**
   * Hands a running call over: its task is stored before the call is answered,
   * and deleted again if the call has ended meanwhile.
   *
   * @throws as {@linkcode start}; the call then goes on as it was
   */
  async handOver(begun: Begun, tool: WorkingTool): Promise<void> {
    const { request } = begun;
    await this.#begin(request, tool, async (atWork, task, list) => {
      const { signal, taskId } = atWork;
      const { statusMessage } = begun;
      const own = this.#workOf(atWork, request, request);
      if (signal.aborted || !begun.take({ ...task, statusMessage }, own)) {
        return await tidy(() => this.tasks.discard(taskId, list));
      }
      signal.addEventListener("abort", () => {
        request.stop((signal.reason as Error).message);
      }, { once: true });
      if (statusMessage !== undefined) {
        own.status.tell({ statusMessage }).catch(() => {});
      }
      await atWork.lead(own, () => begun.result);
    });
  }

  /** Creates a task, and gives it to `work` in the same turn. */
  async #begin(
    request: TaskRequest,
    { name: tool, scopes }: WorkingTool,
    work: (atWork: TaskAtWork, task: Task, list: string) => Promise<void>,
  ): Promise<Task> {
    const { tasks, log } = this;
    const { caller, countedAs } = request;
    this.#room.enter(countedAs);
    const taskId = randomId(24);
    const stopping = this.#stopping.signal;
    const around = { tasks, log, stopping };
    const atWork = new TaskAtWork(taskId, around, caller, request);
    const created = this.#room.chooseList(request).then(async (list) => ({
      task: await tasks.create(taskId, caller, { tool, scopes, list }),
      list,
    }));
    const done = created.then(
      ({ task, list }) =>
        work(atWork, task, list).catch((error) =>
          log.error("A task could not be ended", { reference: taskId, error })
        ),
      // The caller of this method gets the error.
      () => {},
    ).finally(() => {
      this.#running.delete(atWork);
      this.#room.release(countedAs);
    });
    // From here on a stop finds it, wherever it is.
    this.#running.set(atWork, done);
    return (await created).task;
  }

  /** Refuses new tasks from now on, and stops those that wait for a person. */
  refuse(): void {
    this.#room.isClosed = true;
    for (const atWork of this.#asking) atWork.fire(STOPPING);
  }

  /** Ends every task of this process as failed, and waits for that. */
  async stop(): Promise<void> {
    this.refuse();
    this.#stopping.abort();
    for (const atWork of this.#running.keys()) atWork.fire(STOPPING);
    await Promise.all(this.#running.values());
  }

  /** Notes that a task waits for a person, until that is over. */
  #wait(atWork: TaskAtWork): () => void {
    if (this.#room.isClosed) atWork.fire(STOPPING);
    this.#asking.add(atWork);
    return () => this.#asking.delete(atWork);
  }

  /** @param begun the call that becomes the task, if it is one */
  #workOf(
    atWork: TaskAtWork,
    request: TaskRequest,
    begun?: Begun["request"],
  ): WorkOfTask {
    const { tasks, questions, clock, log } = this;
    const { taskId, signal } = atWork;
    return new WorkOfTask(taskId, request, {
      tasks,
      signal,
      clock,
      log,
      begun,
      asking: { questions, wait: () => this.#wait(atWork) },
    });
  }
}
