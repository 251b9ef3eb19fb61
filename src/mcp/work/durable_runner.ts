/**
 * The durable work that this process does: begun by a call here, or taken over
 * because its time has come or its process is gone.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { pause, within } from "../../clock.ts";
import { randomId } from "../../crypto/crypto.ts";
import { RpcCode } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import type { Database } from "../../store/database.ts";
import { persist } from "../../store/persist.ts";
import { stepFailureStore } from "../../store/step_failures.ts";
import { type Step, stepStore } from "../../store/steps.ts";
import type { Hold, RunBeginning } from "../../store/run_record.ts";
import { taskRunStore } from "../../store/task_runs.ts";
import type { Task, TaskStore } from "../../store/tasks.ts";
import { waitStore } from "../../store/waits.ts";
import { type Wake, wakeStore } from "../../store/wakes.ts";
import type { Context } from "../../authoring/context.ts";
import { detached } from "../../telemetry/current.ts";
import { fire } from "../exchange/abort.ts";
import { CallContext } from "../exchange/call_context.ts";
import { CallerBound } from "../exchange/caller_bound.ts";
import type { CountedAs } from "../exchange/counted_as.ts";
import { DurableRun, Expelled, Left } from "./durable_run.ts";
import { DivergenceError, nameOf } from "./step_order.ts";
import {
  type Beginning,
  checkRoom,
  listOf,
  orAborted,
  serverStopping,
  TaskAbort,
  TASKS_PER_CALLER,
} from "./task_runner.ts";
import {
  endingOf,
  EXPELLED,
  failedEnding,
  type SettledTask,
  STOPPED,
} from "./task_state.ts";
import { storeEnding } from "./task_ending.ts";
import { isTaskAllowed } from "./task_permission.ts";
import { watchTask } from "./task_watch.ts";
import { WorkOfTask } from "./work_of_task.ts";

/** The most runs that one round of a look takes. */
const RUNS_PER_ROUND = 32;
/** The most runs that are taken over as long as they are at work. */
const MOST_TAKEN = 200;
/** The most of them that are one caller's; of many people's, twice as many. */
export const TAKEN_PER_CALLER = 50;
/** The time until another look at work whose caller has so many. */
const BUSY_SECONDS = 60;
/** The time for which a call of `wake` waits for what it has begun. */
const WAKE_MILLISECONDS = 50_000;
/** The time until another look at work whose tool is not known here. */
const MISSING_SECONDS = 30;
/** The time for which processes of another release may still know the tool. */
const MISSED_SECONDS = 60 * 60;
/**
 * The time for which a turn that was taken waits for the database: shorter than
 * its lease. A turn that begins no work counts as the death of a process.
 */
const TURN_MILLISECONDS = 20_000;
/** The time for which a stop waits for the database. */
const STOP_MILLISECONDS = 5000;
const LOOK_MILLISECONDS = 1000;
const STOPPING = "The server stops";

/** A tool's durable work. */
export interface DurableWork {
  tool: string;
  scopes: readonly string[];
  /** The seconds for which its result stays. */
  keep: number;
  /** The version of its steps. */
  version: number;
  run(beginning: RunBeginning, context: Context): Promise<CallToolResult>;
}

/** Work that another process began, and the request that stands for its call. */
export interface Resumed {
  work: DurableWork;
  /** Undefined: its caller may not do this any more. */
  request?: Beginning;
}

/** A run that this process works on. */
interface AtWork {
  run: DurableRun;
  hold: Hold;
  abort: TaskAbort;
  done: Promise<void>;
}

/** The durable work of this process. */
export class DurableRunner {
  readonly #atWork = new Map<string, AtWork>();
  readonly #bound = new CallerBound(TASKS_PER_CALLER, "tasks at a time");
  readonly #takenBound = new CallerBound(TAKEN_PER_CALLER, "tasks", 2);
  #taken = 0;
  readonly #runs;
  readonly #steps;
  readonly #failures;
  readonly #wakes;
  readonly #waits;
  readonly #stopping = new AbortController();
  /** Runs that may have died: the others must not wait behind them. */
  readonly #watched = new Set<string>();
  #isRefusing = false;
  #timer?: ReturnType<typeof setInterval>;
  #lookedMilliseconds = -Infinity;
  #looking?: Promise<void>;

  /**
   * @param resume finds the tool of a run, and its caller by what is known of
   * them now; undefined where the tool is not known
   * @param options those of the store of runs
   */
  constructor(
    private readonly database: Database,
    private readonly tasks: TaskStore,
    private readonly log: Logger,
    private readonly resume: (
      hold: Hold,
      beginning: RunBeginning,
    ) => Promise<Resumed | undefined>,
    options?: Parameters<typeof taskRunStore>[1],
  ) {
    this.#runs = taskRunStore(database, options);
    this.#steps = stepStore(database);
    this.#failures = stepFailureStore(database, log);
    this.#wakes = wakeStore(database);
    this.#waits = waitStore(database);
  }

  get size(): number {
    return this.#atWork.size;
  }

  /**
   * The end of the waits that are all that happens here: infinite if nothing is
   * here, undefined while anything is at work.
   */
  get restsUntil(): number | undefined {
    let first = Infinity;
    for (const { run: { restsUntil } } of this.#atWork.values()) {
      if (restsUntil === undefined) return undefined;
      first = Math.min(first, restsUntil);
    }
    return first;
  }

  /**
   * Lets the clock of a test jump. The work that is here keeps its turn, and
   * what has become due is taken.
   */
  async jump(move: () => void): Promise<void> {
    while (this.#looking) await this.#looking;
    // No look comes before the leases are renewed.
    this.#looking = this.#jump(move).finally(() => this.#looking = undefined);
    await this.#looking;
    for (const { run } of this.#atWork.values()) run.recheck();
    await this.look();
  }

  async #jump(move: () => void): Promise<void> {
    move();
    const holds = [...this.#atWork.values()].map(({ hold }) => hold);
    await Promise.all(holds.map((hold) => this.#runs.renew(hold)));
  }

  /**
   * Creates a task for a call and begins its work. Reading it later needs the
   * same scopes.
   *
   * @throws {HttpError} 503 when the server stops, 429 when the caller has too
   * many
   */
  async start(
    request: Beginning,
    work: DurableWork,
    beginning: RunBeginning,
  ): Promise<Task> {
    if (this.#isRefusing) throw serverStopping();
    const { caller, countedAs } = request;
    const { tool, scopes, keep } = work;
    this.#bound.take(countedAs);
    try {
      const list = listOf(caller, countedAs);
      if (countedAs) await checkRoom(this.tasks, list);
      const { task, hold } = await this.tasks.createDurable(
        randomId(24),
        { tool, scopes, keep, caller, countedAs },
        beginning,
        list,
      );
      this.#begin(hold, [], { work, request }, beginning);
      return task;
    } catch (error) {
      this.#bound.release(countedAs);
      throw error;
    }
  }

  /**
   * Resolves when a run has ended here, or has left this process; at once if it
   * is not here.
   */
  async left(taskId: string): Promise<void> {
    await this.#atWork.get(taskId)?.done;
  }

  /**
   * Looks from now on, once a second: by a timer, and with requests, for a
   * process that sleeps in between.
   */
  notice(): void {
    if (this.#isRefusing) return;
    this.#timer ??= detached(() =>
      setInterval(() => this.look(), LOOK_MILLISECONDS)
    );
    const passed = performance.now() - this.#lookedMilliseconds;
    if (passed >= LOOK_MILLISECONDS) detached(() => this.look());
  }

  /** Takes the runs whose time has come: one bounded read, and what it found. */
  look(): Promise<void> {
    this.#lookedMilliseconds = performance.now();
    return this.#looking ??= this.#look().catch((error) =>
      this.log.warning("Durable work could not be looked at", { error })
    ).finally(() => this.#looking = undefined);
  }

  /** The same for one who calls from time to time, and waits for the work. */
  async wake(): Promise<void> {
    const before = new Set(this.#atWork.values());
    await this.look();
    const begun = [...this.#atWork.values()].filter((one) => !before.has(one));
    await within(WAKE_MILLISECONDS, Promise.all(begun.map(({ done }) => done)));
  }

  /** Takes no more work, and leaves what is between two steps to others. */
  refuse(): void {
    this.#isRefusing = true;
    clearInterval(this.#timer);
    for (const { run } of this.#atWork.values()) run.release();
  }

  /** Leaves all work to others, and waits until that is stored. */
  async stop(): Promise<void> {
    this.refuse();
    this.#stopping.abort();
    await this.#looking;
    await Promise.all([...this.#atWork.values()].map(async (atWork) => {
      const { hold, abort, done } = atWork;
      await persist(
        () => this.#runs.park(hold, this.database.now(), []),
        { forMilliseconds: STOP_MILLISECONDS },
        // Its lease lapses then.
      ).catch(() => {});
      this.#fire(abort, STOPPING);
      await done;
    }));
    await this.#failures.close();
  }

  /** Takes what is due, in rounds, and leaves half of the time to calls. */
  async #look(): Promise<void> {
    const { signal } = this.#stopping;
    while (!this.#isRefusing && this.#taken < MOST_TAKEN) {
      const began = performance.now();
      if (!await this.#takeSome()) return;
      await pause(performance.now() - began, signal);
    }
  }

  /** Takes a round of the work that is due; true if there is more of it. */
  async #takeSome(): Promise<boolean> {
    const most = RUNS_PER_ROUND + Math.min(this.#watched.size, MOST_TAKEN);
    const due = await this.#wakes.due(most);
    this.#watched.clear();
    for (let start = 0; start < due.length; start += RUNS_PER_ROUND) {
      const some = due.slice(start, start + RUNS_PER_ROUND);
      await Promise.all(some.map((wake) => this.#take(wake)));
    }
    return due.length === most && this.#watched.size < due.length;
  }

  async #take(wake: Wake): Promise<void> {
    const { taskId } = wake;
    const taken = await this.#runs.take(
      wake,
      async () => (await this.#steps.list(taskId)).length,
    );
    if (!("hold" in taken)) {
      const { because } = taken;
      if (because === "watched") this.#watched.add(taskId);
      if (because === "ended" || because === "held") {
        await this.#wakes.drop(wake);
      }
      return;
    }
    const { hold } = taken;
    const { countedAs } = hold.run;
    let isCounted = false;
    try {
      if (!this.#takenBound.hasRoom(countedAs)) {
        // Others' work must not wait for one caller's.
        await this.#runs.park(hold, this.database.now() + BUSY_SECONDS, []);
        return;
      }
      this.#takenBound.count(countedAs);
      this.#taken++;
      isCounted = true;
      const { steps, beginning, resumed } = await persist(
        () => this.#read(hold),
        {
          signal: this.#stopping.signal,
          forMilliseconds: TURN_MILLISECONDS,
        },
      );
      if (!resumed) return await this.#miss(hold);
      if (this.#isRefusing) {
        await this.#runs.park(hold, this.database.now(), []);
        return;
      }
      const { request, work } = resumed;
      if (!request) return void await this.#end(hold, EXPELLED);
      this.#bound.count(request.countedAs);
      const done = this.#begin(hold, steps, { work, request }, beginning);
      isCounted = false;
      done.finally(() => this.#release(countedAs));
    } catch (error) {
      // Its lease lapses, and someone looks again.
      this.log.warning("Durable work could not be taken over", {
        reference: taskId,
        error,
      });
    } finally {
      if (isCounted) this.#release(countedAs);
    }
  }

  /** Reads what a run that was taken needs to go on. */
  async #read(hold: Hold) {
    // The one before may have kept some until it lost its turn.
    const steps = await this.#steps.list(hold.taskId);
    const beginning = await this.#runs.beginningOf(hold);
    return { steps, beginning, resumed: await this.resume(hold, beginning) };
  }

  #release(countedAs: CountedAs | undefined): void {
    this.#takenBound.release(countedAs);
    this.#taken--;
  }

  /** Leaves work to those who know its tool, as long as there may be any. */
  async #miss(hold: Hold): Promise<void> {
    const now = this.database.now();
    const { run: { tool, missingSince = now } } = hold;
    if (now - missingSince < MISSED_SECONDS) {
      const dueSeconds = now + MISSING_SECONDS;
      await this.#runs.park(hold, dueSeconds, [], missingSince);
      return;
    }
    const message = `The tool ${tool} is not there any more`;
    await this.#end(hold, {
      outcome: "refused",
      error: { code: RpcCode.internalError, message },
    });
  }

  #begin(
    hold: Hold,
    steps: readonly Step[],
    { work, request }: Required<Resumed>,
    beginning: RunBeginning,
  ): Promise<void> {
    const { database, tasks, log } = this;
    const { taskId } = hold;
    const abort = new TaskAbort(taskId);
    const { signal } = abort;
    const run = new DurableRun({
      hold,
      steps,
      version: work.version,
      signal,
      now: () => database.now(),
      save: (step) => this.#save(hold, step),
      park: async (dueSeconds, questions) => {
        // The next run does not repeat it.
        await own.status.write();
        return await this.#runs.park(hold, dueSeconds, questions);
      },
      isAllowed: () => isTaskAllowed(this.tasks, taskId, request),
      cut: (reason) => own.authored.cut(reason),
    });
    const own: WorkOfTask = new WorkOfTask(taskId, request, {
      tasks,
      questions: this.#bound,
      signal,
      clock: database.clock,
      log,
      wait: () => () => {},
      durable: run,
      waits: this.#waits,
      tool: hold.run.tool,
    });
    const done = this.#work(
      hold,
      { run, own, abort, request },
      () => work.run(beginning, new CallContext(own)),
    ).catch((error) =>
      log.error("A task could not be ended", { reference: taskId, error })
    ).finally(() => {
      this.#atWork.delete(taskId);
      this.#bound.release(request.countedAs);
    });
    this.#atWork.set(taskId, { run, hold, abort, done });
    if (this.#isRefusing) run.release();
    return done;
  }

  /** Keeps a step, and counts its failure beside that. */
  async #save(hold: Hold, step: Step): Promise<boolean> {
    const isSaved = await this.#steps.save(hold, step);
    const { id, state, error } = step;
    if (isSaved && error && (state === "failed" || state === "waiting")) {
      this.#failures.note({ tool: hold.run.tool, step: nameOf(id) });
    }
    return isSaved;
  }

  async #work(
    hold: Hold,
    { run, own, abort, request }: Pick<AtWork, "run" | "abort"> & {
      own: WorkOfTask;
      request: Beginning;
    },
    work: () => Promise<CallToolResult>,
  ): Promise<void> {
    const { tasks, log } = this;
    const { signal, taskId } = abort;
    let onAbort: SettledTask | undefined;
    const stopWatching = watchTask(
      taskId,
      {
        tasks: {
          renewLease: () => this.#runs.renew(hold),
          ended: tasks.ended,
        },
        log,
      },
      () => isTaskAllowed(this.tasks, taskId, request),
      (ending) => {
        if (signal.aborted) return;
        // A turn that is lost is no end.
        if (ending !== STOPPED) onAbort = ending;
        this.#fire(abort, "The task has ended");
      },
    );
    try {
      const ending = await orAborted(signal, async () => {
        const result = await own.authored.wait(work());
        run.end();
        return result;
      }).then(
        endingOf,
        (error) => signal.aborted ? onAbort : this.#endingOf(error, taskId),
      );
      run.drop();
      const statusMessage = await own.status.end();
      if (ending) await this.#end(hold, ending, request, statusMessage);
    } finally {
      await stopWatching();
      // Parallel work of the tool ends too.
      if (!signal.aborted) this.#fire(abort, "The run has ended");
    }
  }

  /** Makes the end of what a run has thrown; undefined if it goes on elsewhere. */
  #endingOf(error: unknown, taskId: string): SettledTask | undefined {
    if (error instanceof Left) return undefined;
    if (error instanceof Expelled) return EXPELLED;
    if (!(error instanceof DivergenceError)) {
      return failedEnding(error, taskId, this.log);
    }
    this.log.error("Durable work cannot go on", { reference: taskId, error });
    const message =
      `The tool has changed since this work began (reference ${taskId})`;
    return {
      outcome: "internal_error",
      error: { code: RpcCode.internalError, message },
    };
  }

  /** Stores the end of a task, if its work is still this process's. */
  async #end(
    hold: Hold,
    settled: SettledTask,
    request?: Beginning,
    statusMessage?: string,
  ): Promise<void> {
    const { taskId, run: { caller } } = hold;
    const { ending, isSaved } = await storeEnding(
      settled,
      { taskId, statusMessage, signal: this.#stopping.signal, log: this.log },
      (end) => this.tasks.end(taskId, end, hold),
    );
    if (isSaved) return request?.endTask(taskId, ending.outcome);
    const found = await this.tasks.find(taskId, caller.binding)
      .catch(() => undefined);
    // Otherwise another process reports it.
    if (found?.status === "cancelled") request?.endTask(taskId, "cancelled");
  }

  #fire(abort: TaskAbort, reason: string): void {
    fire(abort, reason, { log: this.log, reference: () => abort.taskId });
  }
}
