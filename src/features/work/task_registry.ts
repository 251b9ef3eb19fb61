/**
 * The tasks that run in this process. A task begins here, or a running call
 * becomes one. Durable work is also taken over from other processes, when its
 * time has come or its process has died.
 *
 * @module
 */
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import { within } from "../../core/clock.ts";
import { randomId } from "../../core/crypto/crypto.ts";
import { bestEffort, untilReachable } from "../../core/kv/operations.ts";
import { secondsAfter } from "./parking.ts";
import { taskRunStore } from "./task_runs.ts";
import type { Task, TaskStore } from "./tasks.ts";
import { type Poller, RunPoller } from "./run_poller.ts";
import { TaskExecution } from "./task_execution.ts";
import {
  type CallInProgress,
  type DurableStart,
  type DurableState,
  EXPELLED,
  type FindRun,
  PAUSED,
  type TaskOrigin,
  type TaskParts,
  type TaskWork,
  WAITS_FOR_NEXT_TRY,
} from "./task_work.ts";
import { HttpError, LimitError, RpcCode } from "../../core/errors.ts";
import {
  CallerBound,
  longMessageBudget,
  MANY_FACTOR,
  type MessageHolder,
} from "../../core/mcp/exchange/limits.ts";
import type { Claim } from "./run_record.ts";

/** The maximum time for which `wake` waits for the work that it claimed. */
const WAKE_MILLISECONDS = 50_000;

/** A task, and a promise of its end in this process. */
export interface StartedTask {
  task: Task;
  done: Promise<void>;
}

interface RegistryOptions extends Omit<TaskParts, "runs" | "stopping"> {
  resume: FindRun;
  /** Returns the addresses whose durable work this process does. */
  addresses(): readonly string[];
  runs?: Parameters<typeof taskRunStore>[1];
}

export class TaskRegistry {
  readonly poller: RunPoller;
  readonly #here = new Map<TaskExecution, Promise<void>>();
  readonly #creating = new Set<Promise<StartedTask>>();
  readonly #stopping = new AbortController();
  readonly #room: TaskRoom;
  readonly #parts: TaskParts;
  readonly #resume: FindRun;

  constructor({ resume, addresses, runs, ...given }: RegistryOptions) {
    this.#room = new TaskRoom(given.tasks);
    this.#resume = resume;
    const { database } = given;
    const parts = this.#parts = {
      ...given,
      stopping: this.#stopping.signal,
      runs: taskRunStore(database, runs),
    };
    this.poller = new RunPoller({
      ...parts,
      addresses,
      takeOver: (claim) => this.takeOver(claim),
    });
  }

  get size(): number {
    return this.#here.size + this.#creating.size;
  }

  get #durable(): TaskExecution[] {
    return [...this.#here.keys()].filter(({ claim }) => claim);
  }

  /**
   * The time in epoch seconds at which the first durable run of this process
   * resumes. Infinite if there are no runs. Undefined if a run is not waiting.
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
   * @throws {HttpError} 503 if the server stops, 429 if the caller has too many
   * tasks, 413 if the {@linkcode RunBeginning} of durable work is too long
   */
  start(
    origin: TaskOrigin,
    { tool, scopes = [], needsAccounts, run }: TaskWork,
    durable?: DurableStart,
  ): Promise<StartedTask> {
    const { caller, limitKey } = origin;
    return this.#create(origin, async (taskId, list) => {
      const parts = this.#parts;
      const begin = async (task: Task, durable?: DurableState) => {
        // A client whose call is over by now learns of no task.
        if (origin.isOver?.()) {
          const { claim } = durable ?? {};
          await parts.tasks.end(taskId, { status: "cancelled" }, claim);
          throw new HttpError(503, "The call was over before its task began");
        }
        const start = new TaskExecution(parts, { taskId, origin, durable });
        return { task, done: this.#execute(start, run) };
      };
      if (!durable) {
        const plain = { tool, scopes, needsAccounts, list };
        return begin(await parts.tasks.create(taskId, caller, plain));
      }
      const { beginning, version = 1, keep, address } = durable;
      const kept = { tool, version, scopes, needsAccounts, keep, address };
      const { task, claim } = await parts.tasks
        .createDurable(taskId, { ...kept, caller, limitKey }, beginning, list);
      return begin(task, { claim, version, steps: [] });
    });
  }

  /**
   * Turns a running call into a task, which is stored before the call is
   * answered. Deletes it again if the call has ended by then.
   *
   * @throws what {@linkcode start} throws; the call then continues without a
   * task
   */
  async handOver(
    { request: origin, result, statusMessage, repeat, mayAsk, take }:
      CallInProgress,
    { name, scopes, needs }: Pick<CompiledTool, "name" | "scopes" | "needs">,
  ): Promise<void> {
    const { tasks } = this.#parts;
    await this.#create(origin, async (taskId, list) => {
      const needsAccounts: true | undefined = needs && true;
      const { ifCut } = origin;
      const own = { tool: name, scopes, needsAccounts, list, repeat, ifCut };
      const task = await tasks.create(taskId, origin.caller, own);
      const start = { taskId, origin, call: origin, mayAsk };
      const execution = new TaskExecution(this.#parts, start);
      const { channel, signal } = execution;
      const isStopping = this.#stopping.signal.aborted;
      if (isStopping || !take({ ...task, statusMessage }, channel)) {
        const done = bestEffort(() => tasks.discard(taskId, { list, repeat }));
        return { task, done: done.finally(() => this.#room.leave(origin)) };
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

  /** Claims work whose time has come, and waits at most 50 seconds for it. */
  async wake(): Promise<void> {
    const before = new Set(this.#here.values());
    await this.poller.poll();
    const taken = [...this.#here.values()].filter((one) => !before.has(one));
    await within(WAKE_MILLISECONDS, Promise.all(taken));
  }

  /**
   * Moves the clock of a test. Running work keeps its claims. Then claims the
   * work whose time has come.
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
   * Refuses new tasks from now on. Parks durable work between two steps, and
   * ends plain tasks that wait for a person.
   */
  refuse(): void {
    this.#room.isClosed = true;
    this.poller.end();
    for (const { parking } of this.#here.keys()) parking.release();
  }

  /** Leaves durable work to other processes; fails plain tasks. */
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

  /** Resumes a claimed run, releases its claim, or ends its task. */
  async takeOver(claim: Claim): ReturnType<Poller["takeOver"]> {
    const parts = this.#parts;
    const { runs, database, stopping: signal } = parts;
    const { taskId, run: { deaths, version: firstVersion = 1 } } = claim;
    const resumed = await untilReachable(async () => {
      // Read after the claim, because the previous process could store steps
      // until the claim.
      const steps = await parts.steps.list(taskId);
      // Another process may have claimed and ended the run, which deletes the
      // steps.
      if (!await runs.isHeld(claim)) return undefined;
      const beginning = await runs.beginningOf(claim);
      return { steps, ...await this.#resume(claim, beginning) };
    }, { signal, forMilliseconds: CLAIM_MILLISECONDS });
    if (!resumed) return undefined;
    const { steps, work, lacks, origin, isAllowed, isConfigured } = resumed;
    const { version } = work ?? { version: 1 };
    const durable = { claim, steps, version };
    const execution = new TaskExecution(parts, { taskId, origin, durable });
    // The steps of a newer release differ from those of this release, even if
    // their IDs are equal.
    const newest = Math.max(
      firstVersion,
      ...steps.map(({ version }) => version),
    );
    if (!work || version < newest) {
      const missing = lacks !== undefined
        ? `The setting ${lacks} for`
        : work
        ? `Version ${newest} of the steps of`
        : "The tool";
      return await leaveOrFail(parts, claim, execution, missing);
    }
    if (this.#room.isClosed) {
      return void await runs.park(claim, database.now(), [], { deaths });
    }
    if (!isAllowed) {
      if (!isConfigured && await leave(parts, claim)) return "left";
      return void await execution.end(EXPELLED);
    }
    if (isAllowed === "paused") {
      const now = database.now();
      const { pausedSince = now } = claim.run;
      const again = now + secondsAfter(now - pausedSince, MAX_PAUSED_SECONDS);
      const more = { deaths, pausedSince, waitsFor: PAUSED };
      return void await runs.park(claim, again, [], more);
    }
    const free = work.enter ? work.enter(origin.limitKey) : () => {};
    if (!free) return "no room";
    this.#room.count(origin.limitKey);
    return { done: this.#execute(execution, work.run).finally(free) };
  }

  /** Creates a task unless its caller has too many. */
  async #create(
    origin: TaskOrigin,
    begin: (taskId: string, list: string) => Promise<StartedTask>,
  ): Promise<StartedTask> {
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

  /**
   * Runs a task in this process. Once the task ends, it no longer counts for
   * its caller.
   */
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

/** The maximum number of running tasks of one caller in one process. */
export const MAX_TASKS_PER_CALLER = 100;

/**
 * The maximum number of tasks, in any state, that are stored within a day for a
 * person or a list.
 */
export const MAX_TASKS_KEPT = 1000;

/** The `Retry-After` in seconds; by then some stored tasks may have expired. */
const KEPT_RETRY_SECONDS = 600;

/** The running tasks of this process, limited for each caller. */
export class TaskRoom extends CallerBound {
  /** True once the server refuses new tasks because it stops. */
  isClosed = false;

  constructor(private readonly tasks: Pick<TaskStore, "hasMany">) {
    super(MAX_TASKS_PER_CALLER, "tasks at a time");
  }

  /**
   * Counts a new task for its caller, and the memory of its message.
   *
   * @throws {HttpError} 503 if the server stops, 429 if the caller has too many
   * tasks
   */
  enter(origin: MessageHolder): void {
    if (this.isClosed) throw new HttpError(503, "The server is stopping");
    this.take(origin.limitKey);
    longMessageBudget.add(origin);
  }

  /** Stops counting a task. */
  leave(origin: MessageHolder): void {
    this.release(origin.limitKey);
    longMessageBudget.delete(origin);
  }

  /**
   * Chooses the list that counts a new task. A credential or a network that
   * many people share has many lists, filled evenly. So each of its lists is as
   * short to count as a person's.
   *
   * @throws {LimitError} if the chosen list is full
   */
  async chooseList(
    { caller, limitKey }: Pick<TaskOrigin, "caller" | "limitKey">,
  ): Promise<string> {
    const list = limitKey?.isMany
      ? `${limitKey.name} ${Math.floor(Math.random() * MANY_FACTOR)}`
      : caller.binding;
    if (limitKey && await this.tasks.hasMany(list, MAX_TASKS_KEPT)) {
      throw new LimitError("stored tasks", KEPT_RETRY_SECONDS);
    }
    return list;
  }
}

/**
 * The seconds until the next try to resume a run for which this process lacks
 * the tool or steps, the caller's provider, or the encryption keys of the
 * caller's accounts.
 */
const MISSING_SECONDS = 30;
/**
 * The seconds for which a run is left to other processes that may have what
 * this one lacks.
 */
const MISSED_SECONDS = 60 * 60;
/**
 * The longest wait, before its random part, for a caller who is paused: work is
 * woken when its person resumes the connection.
 */
const MAX_PAUSED_SECONDS = 60 * 60;
/**
 * The time for which a claim waits for the database. It is shorter than the
 * lease: if a claim took longer than its lease, this process would seem to have
 * died.
 */
const CLAIM_MILLISECONDS = 20_000;

/**
 * Leaves a run to other processes, which may have the tool, steps or settings
 * that this one lacks. Returns false if none has had them for an hour.
 */
async function leave(
  { runs, database }: TaskParts,
  claim: Claim,
): Promise<boolean> {
  const now = database.now();
  const { run: { deaths, missingSince = now } } = claim;
  if (now - missingSince >= MISSED_SECONDS) return false;
  const more = { deaths, missingSince, waitsFor: WAITS_FOR_NEXT_TRY };
  await runs.park(claim, now + MISSING_SECONDS, [], more);
  return true;
}

/**
 * Leaves a run if this process lacks its tool, steps or settings. Ends it with
 * an error if all processes have lacked them for an hour.
 */
async function leaveOrFail(
  parts: TaskParts,
  claim: Claim,
  execution: TaskExecution,
  missing: string,
): Promise<"left" | undefined> {
  if (await leave(parts, claim)) return "left";
  const message = `${missing} ${claim.run.tool} is not there any more`;
  const error = { code: RpcCode.internalError, message };
  return void await execution.end({ outcome: "refused", error });
}
