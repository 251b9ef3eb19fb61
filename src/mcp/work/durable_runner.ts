/**
 * The durable work that this process does: begun by a call here, or taken over
 * because its time has come or its process is gone.
 *
 * @module
 */
import { within } from "../../clock.ts";
import { randomId } from "../../crypto/crypto.ts";
import { RpcCode } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import type { Database } from "../../store/database.ts";
import { persist } from "../../store/persist.ts";
import type { Hold, RunBeginning } from "../../store/run_record.ts";
import { stepFailureStore } from "../../store/step_failures.ts";
import { type Step, stepStore } from "../../store/steps.ts";
import { taskRunStore } from "../../store/task_runs.ts";
import type { Task, TaskStore } from "../../store/tasks.ts";
import { waitStore } from "../../store/waits.ts";
import {
  type DurableWork,
  type Resumed,
  RunAtWork,
  type RunStores,
  taskOfRun,
} from "./run_at_work.ts";
import { Takeovers, type Taker } from "./takeovers.ts";
import { STOPPING } from "../exchange/running.ts";
import type { TaskRequest } from "./work_of_task.ts";
import type { TaskAtWork } from "./task_at_work.ts";
import { TaskRoom } from "./task_room.ts";
import { EXPELLED } from "./task_state.ts";

/** The time for which a call of `wake` waits for what it has begun. */
const WAKE_MILLISECONDS = 50_000;
/** The time until another look at work whose tool is not known here. */
const MISSING_SECONDS = 30;
/** The time for which the tool may still be known to another release. */
const MISSED_SECONDS = 60 * 60;
/**
 * The time for which a turn that was taken waits for the database: shorter than
 * its lease. A turn that begins no work counts as the death of a process.
 */
const TURN_MILLISECONDS = 20_000;
/** The time for which a stop waits for the database. */
const STOP_MILLISECONDS = 5000;

export class DurableRunner {
  /** The runs that this process works on, and their ends here. */
  readonly #here = new Map<RunAtWork, Promise<void>>();
  readonly #room;
  readonly #stores: RunStores;
  readonly #takeovers;
  readonly #stopping = new AbortController();

  /**
   * @param resume finds the tool of a run, and its caller by what is known of
   * them now
   * @param addresses those whose work this process does
   * @param options those of the store of runs
   */
  constructor(
    private readonly database: Database,
    private readonly tasks: TaskStore,
    log: Logger,
    private readonly resume: (
      hold: Hold,
      beginning: RunBeginning,
    ) => Promise<Resumed>,
    addresses: () => readonly string[],
    options?: Parameters<typeof taskRunStore>[1],
  ) {
    this.#room = new TaskRoom(tasks);
    const stopping = this.#stopping.signal;
    this.#stores = {
      database,
      tasks,
      log,
      stopping,
      runs: taskRunStore(database, options),
      steps: stepStore(database),
      failures: stepFailureStore(database, log),
      waits: waitStore(database),
    };
    this.#takeovers = new Takeovers({
      ...this.#stores,
      addresses,
      goOn: (hold) => this.#goOn(hold),
    });
  }

  get size(): number {
    return this.#here.size;
  }

  /**
   * The time at which the first run here goes on, if all of them only wait:
   * infinite without runs, undefined while one is at work.
   */
  get restsUntil(): number | undefined {
    const untils = [...this.#here.keys()].map(({ run }) => run.rest.until);
    return untils.every((until) => until !== undefined)
      ? Math.min(...untils)
      : undefined;
  }

  /**
   * Lets the clock of a test jump. The work that is here keeps its turn, and
   * what has become due is taken.
   */
  async jump(move: () => void): Promise<void> {
    await this.#takeovers.lookAfter(async () => {
      move();
      const here = [...this.#here.keys()];
      // No look comes before the leases are renewed.
      await Promise.all(here.map(({ hold }) => this.#stores.runs.renew(hold)));
      for (const { run } of here) run.rest.recheck();
    });
  }

  /**
   * Creates a task and begins its work. Reading it later needs the same scopes.
   *
   * @param address the address that the work belongs to
   * @throws {HttpError} 503 when the server stops, 429 for too many of a caller
   */
  async start(
    request: TaskRequest,
    work: DurableWork,
    beginning: RunBeginning,
    address: string,
  ): Promise<Task> {
    const { caller, countedAs } = request;
    const { tool, scopes, keep } = work;
    this.#room.enter(countedAs);
    try {
      const { task, hold } = await this.tasks.createDurable(
        randomId(24),
        { tool, scopes, keep, caller, address, countedAs },
        beginning,
        await this.#room.chooseList(request),
      );
      this.#begin(hold, [], { work, request }, beginning);
      return task;
    } catch (error) {
      this.#room.release(countedAs);
      throw error;
    }
  }

  /** Resolves when a run has ended or left here; at once if it is not here. */
  async left(taskId: string): Promise<void> {
    await [...this.#here].find(([{ hold }]) => hold.taskId === taskId)?.[1];
  }

  /** Looks for work from now on, once a second. */
  notice(): void {
    this.#takeovers.notice();
  }

  /** Takes the runs whose time has come. */
  look = (): Promise<void> => this.#takeovers.look();

  /** Takes them as `look` does, and waits for their work, at most 50 seconds. */
  async wake(): Promise<void> {
    const before = new Set(this.#here.values());
    await this.look();
    const begun = [...this.#here.values()].filter((one) => !before.has(one));
    await within(WAKE_MILLISECONDS, Promise.all(begun));
  }

  /** Takes no more work, and leaves what is between two steps to others. */
  refuse(): void {
    this.#room.isClosed = true;
    this.#takeovers.end();
    for (const { run } of this.#here.keys()) run.rest.release();
  }

  /** Leaves all work to others, and waits until that is stored. */
  async stop(): Promise<void> {
    this.refuse();
    this.#stopping.abort();
    await this.#takeovers.settled();
    await Promise.all([...this.#here].map(async ([{ hold, task }, done]) => {
      await persist(
        () => this.#stores.runs.park(hold, this.database.now()),
        { forMilliseconds: STOP_MILLISECONDS },
        // Its lease lapses then.
      ).catch(() => {});
      task.fire(STOPPING);
      await done;
    }));
    await this.#stores.failures.close();
  }

  /** Goes on with a run that was taken. */
  async #goOn(hold: Hold): ReturnType<Taker["goOn"]> {
    const { runs, steps: stored } = this.#stores;
    const { steps, beginning, work, request, isAllowed } = await persist(
      async () => {
        // Read now: the process before kept steps until it lost its turn.
        const steps = await stored.list(hold.taskId);
        const beginning = await runs.beginningOf(hold);
        return { steps, beginning, ...await this.resume(hold, beginning) };
      },
      { signal: this.#stopping.signal, forMilliseconds: TURN_MILLISECONDS },
    );
    const { run: { deaths } } = hold;
    const task = taskOfRun(this.#stores, hold, request);
    if (!work) return void await this.#miss(hold, task);
    if (this.#room.isClosed) {
      return void await runs.park(hold, this.database.now(), [], { deaths });
    }
    if (!isAllowed) return void await task.end(EXPELLED);
    const leave = work.enter ? work.enter(request.countedAs) : () => {};
    if (!leave) return "no room";
    this.#room.count(request.countedAs);
    const done = this.#begin(hold, steps, { work, request }, beginning);
    return { done: done.finally(leave) };
  }

  /** Leaves a run to processes that may know its tool, for an hour; then ends it. */
  async #miss(hold: Hold, task: TaskAtWork): Promise<void> {
    const now = this.database.now();
    const { run: { tool, deaths, missingSince = now } } = hold;
    if (now - missingSince < MISSED_SECONDS) {
      const more = { deaths, missingSince };
      const due = now + MISSING_SECONDS;
      return void await this.#stores.runs.park(hold, due, [], more);
    }
    const message = `The tool ${tool} is not there any more`;
    const error = { code: RpcCode.internalError, message };
    await task.end({ outcome: "refused", error });
  }

  #begin(
    hold: Hold,
    steps: readonly Step[],
    resumed: { work: DurableWork; request: TaskRequest },
    beginning: RunBeginning,
  ): Promise<void> {
    const begun = new RunAtWork(this.#stores, hold, steps, resumed);
    const done = begun.lead(beginning).finally(() => {
      this.#here.delete(begun);
      this.#room.release(resumed.request.countedAs);
    });
    this.#here.set(begun, done);
    if (this.#room.isClosed) begun.run.rest.release();
    return done;
  }
}
