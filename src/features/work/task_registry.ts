/**
 * The tasks that this process works on: begun by a call here, handed over by a
 * running call, or taken over because their time has come or their process is
 * gone.
 *
 * @module
 */
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import { within } from "../../core/clock.ts";
import { randomId } from "../../core/crypto/crypto.ts";
import { tidy } from "../../core/kv/persist.ts";
import { taskRunStore } from "./task_runs.ts";
import type { Task } from "./tasks.ts";
import { RunPoller } from "./run_poller.ts";
import { takeOver } from "./takeover.ts";
import { TaskExecution } from "./task_execution.ts";
import { TaskRoom } from "./task_room.ts";
import type {
  CallInProgress,
  DurableStart,
  DurableState,
  Resume,
  TaskOrigin,
  TaskParts,
  TaskWork,
} from "./task_work.ts";

/** The time for which `wake` waits for the work that it began. */
const WAKE_MILLISECONDS = 50_000;

/** A task that has begun, and its end in this process. */
export interface Started {
  task: Task;
  done: Promise<void>;
}

interface RegistryOptions extends
  Pick<
    TaskParts,
    | "database"
    | "tasks"
    | "steps"
    | "failures"
    | "waits"
    | "questions"
    | "log"
    | "showsCauses"
  > {
  resume: Resume;
  /** Returns the addresses whose durable work this process does. */
  addresses(): readonly string[];
  runs?: Parameters<typeof taskRunStore>[1];
}

export class TaskRegistry {
  readonly poller: RunPoller;
  readonly #here = new Map<TaskExecution, Promise<void>>();
  readonly #creating = new Set<Promise<Started>>();
  readonly #stopping = new AbortController();
  readonly #room: TaskRoom;
  readonly #parts: TaskParts;

  constructor({ resume, addresses, runs, ...given }: RegistryOptions) {
    const room = this.#room = new TaskRoom(given.tasks);
    const { database } = given;
    const parts = this.#parts = {
      ...given,
      stopping: this.#stopping.signal,
      runs: taskRunStore(database, runs),
    };
    this.poller = new RunPoller({
      ...parts,
      addresses,
      takeOver: (claim) =>
        takeOver(claim, {
          parts,
          resume,
          isClosed: () => room.isClosed,
          execute: (execution, work) => {
            room.count(execution.origin.limitKey);
            return this.#execute(execution, work.run);
          },
        }),
    });
  }

  get size(): number {
    return this.#here.size + this.#creating.size;
  }

  get #durable(): TaskExecution[] {
    return [...this.#here.keys()].filter(({ claim }) => claim);
  }

  /**
   * The time at which the first durable run of this process goes on. Infinite
   * if there are none, undefined while one is at work.
   */
  get waitsUntil(): number | undefined {
    const untils = this.#durable.map(({ parking }) => parking.until);
    return untils.every((until) => until !== undefined)
      ? Math.min(...untils)
      : undefined;
  }

  /**
   * Creates a task and begins to work on it.
   *
   * @param durable present for durable work
   * @throws {HttpError} 503 when the server stops, 429 when the caller has too
   * many, 413 when what durable work begins with is too long
   */
  start(
    origin: TaskOrigin,
    { tool, scopes = [], needsAccounts, run }: TaskWork,
    durable?: DurableStart,
  ): Promise<Started> {
    const { caller, limitKey } = origin;
    return this.#create(origin, async (taskId, list) => {
      const parts = this.#parts;
      const begin = (task: Task, durable?: DurableState) => {
        const start = new TaskExecution(parts, { taskId, origin, durable });
        return { task, done: this.#execute(start, run) };
      };
      if (!durable) {
        const plain = { tool, scopes, needsAccounts, list };
        return begin(await parts.tasks.create(taskId, caller, plain));
      }
      const { beginning, version, keep, address } = durable;
      const kept = { tool, version, scopes, needsAccounts, keep, address };
      const { task, claim } = await parts.tasks
        .createDurable(taskId, { ...kept, caller, limitKey }, beginning, list);
      return begin(task, { claim, version, steps: [] });
    });
  }

  /**
   * Hands a running call over: its task is stored before the call is answered,
   * and deleted again if the call has ended meanwhile.
   *
   * @throws what {@linkcode start} throws; the call then goes on without a task
   */
  async handOver(
    { request: origin, result, statusMessage, repeat, mayAsk, take }:
      CallInProgress,
    { name, scopes, needs }: Pick<CompiledTool, "name" | "scopes" | "needs">,
  ): Promise<void> {
    const { tasks } = this.#parts;
    await this.#create(origin, async (taskId, list) => {
      const needsAccounts: true | undefined = needs && true;
      const own = { tool: name, scopes, needsAccounts, list, repeat };
      const task = await tasks.create(taskId, origin.caller, own);
      const start = { taskId, origin, call: origin, mayAsk };
      const execution = new TaskExecution(this.#parts, start);
      const { channel, signal } = execution;
      const isStopping = this.#stopping.signal.aborted;
      if (isStopping || !take({ ...task, statusMessage }, channel)) {
        const done = tidy(() => tasks.discard(taskId, { list, repeat }));
        return {
          task,
          done: done.finally(() => this.#room.leave(origin)),
        };
      }
      signal.addEventListener("abort", () => {
        origin.execution.interrupt((signal.reason as Error).message);
      }, { once: true });
      if (statusMessage !== undefined) {
        channel.status.report({ statusMessage }).catch(() => {});
      }
      return { task, done: this.#execute(execution, () => result) };
    });
  }

  /** Claims due work, and waits until it is done here, at most 50 seconds. */
  async wake(): Promise<void> {
    const before = new Set(this.#here.values());
    await this.poller.poll();
    const taken = [...this.#here.values()].filter((one) => !before.has(one));
    await within(WAKE_MILLISECONDS, Promise.all(taken));
  }

  /**
   * Lets the clock of a test jump. Work in this process keeps its claims, and
   * work that is due afterwards is claimed.
   */
  async jump(move: () => void): Promise<void> {
    await this.poller.jumpThenPoll(async () => {
      move();
      const here = this.#durable;
      // No poll runs before the leases are renewed.
      await Promise.all(
        here.map(({ claim }) => this.#parts.runs.renew(claim!)),
      );
      for (const { parking } of here) parking.recheck();
    });
  }

  /**
   * Refuses new tasks from now on, parks durable work between two steps, and ends
   * plain tasks that wait for a person.
   */
  refuse(): void {
    this.#room.isClosed = true;
    this.poller.end();
    for (const { parking } of this.#here.keys()) parking.release();
  }

  /** Leaves durable work to other processes, and fails plain tasks. */
  async stop(): Promise<void> {
    this.refuse();
    this.#stopping.abort();
    const leave = () =>
      Promise.all([...this.#here].map(async ([execution, done]) => {
        await execution.leave();
        await done;
      }));
    await leave();
    await Promise.allSettled([this.poller.settled(), ...this.#creating]);
    await leave();
    await this.#parts.failures.close();
  }

  /** Creates a task where its caller has room for one. */
  async #create(
    origin: TaskOrigin,
    begin: (taskId: string, list: string) => Promise<Started>,
  ): Promise<Started> {
    this.#room.enter(origin);
    const creating = this.#room.chooseList(origin)
      .then((list) => begin(randomId(24), list))
      .finally(() => this.#creating.delete(creating));
    this.#creating.add(creating);
    try {
      return await creating;
    } catch (error) {
      this.#room.leave(origin);
      throw error;
    }
  }

  /** Runs a task here. At its end, its caller has room for another. */
  #execute(execution: TaskExecution, work: TaskWork["run"]): Promise<void> {
    if (this.#room.isClosed) execution.parking.release();
    if (this.#stopping.signal.aborted) execution.leave();
    const done = execution.run(work).finally(() => {
      this.#here.delete(execution);
      this.#room.leave(execution.origin);
    });
    this.#here.set(execution, done);
    return done;
  }
}
