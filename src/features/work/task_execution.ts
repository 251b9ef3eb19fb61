/**
 * A task that this process works on, from its beginning to its end here. Where
 * a plain task fails, durable work is parked or claimed by another process.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { HttpError } from "../../core/errors.ts";
import { persist } from "../../core/kv/persist.ts";
import type { Claim } from "./run_record.ts";
import { nameOfStep, type Step } from "./steps.ts";
import { fire } from "../../core/mcp/exchange/author_code.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import { STOPPING } from "../../core/mcp/exchange/running.ts";
import { durableRun } from "./durable_run.ts";
import { DurableSteps } from "./durable_steps.ts";
import { Parking } from "./parking.ts";
import { TaskChannel } from "./task_channel.ts";
import {
  endingOf,
  failedEnding,
  resultEnding,
  type SettledTask,
  STOPPED,
  taskEndOf,
} from "./task_state.ts";
import { TaskWatch } from "./task_watch.ts";
import type {
  CallInProgress,
  DurableState,
  OriginCall,
  TaskOrigin,
  TaskParts,
} from "./task_work.ts";

/** The time for which a stop waits for the database. */
const STOP_MILLISECONDS = 5000;

interface TaskStart extends Partial<Pick<CallInProgress, "mayAsk">> {
  taskId: string;
  origin: TaskOrigin;
  /** The call that became the task while it ran. */
  call?: OriginCall;
  /** Present if the work is durable. */
  durable?: DurableState;
}

export class TaskExecution {
  readonly taskId: string;
  readonly origin: TaskOrigin;
  readonly claim?: Claim;
  readonly parking: Parking;
  /** The work that the task's context belongs to. */
  readonly channel: TaskChannel;
  readonly #abort = new AbortController();
  readonly #steps?: DurableSteps;
  readonly #watch: TaskWatch;
  /** The end if the signal fires; undefined if the work goes on elsewhere. */
  #onAbort?: SettledTask;

  constructor(
    private readonly parts: TaskParts,
    { taskId, origin, call, mayAsk = true, durable }: TaskStart,
  ) {
    const { tasks, runs, database, waits } = parts;
    const claim = this.claim = durable?.claim;
    const { signal } = this;
    const interrupt = (reason: unknown) =>
      this.channel.authorCode.interrupt(reason);
    this.taskId = taskId;
    this.origin = origin;
    this.#onAbort = claim ? undefined : STOPPED;
    this.#watch = new TaskWatch(parts, {
      taskId,
      origin,
      renew: () => claim ? runs.renew(claim) : tasks.renewLease(taskId),
      onLost: this.#onAbort,
    });
    const parking = this.parking = new Parking({
      signal,
      now() {
        return database.clock() / 1000;
      },
      interrupt,
      stop: () => this.fire(STOPPING),
      startedAt: durable ? progressOf(durable) : database.now(),
      park: claim && (async ({ dueSeconds, questions, waits, waitsFor }) => {
        // The next run does not send the same progress again.
        await this.channel.status.write();
        const more = { waits, waitsFor: waitsFor ?? this.channel.link };
        return await runs.park(claim, dueSeconds, questions, more);
      }),
    });
    const steps = this.#steps = durable && new DurableSteps(
      durableRun({
        claim: durable.claim,
        parking,
        signal,
        now: () => database.now(),
        interrupt,
        store: (step) => this.#store(durable.claim, step),
        renew: () => runs.renew(durable.claim),
        isAllowed: () => this.#watch.isAllowed(),
        code: () => this.channel.authorCode,
      }),
      durable.steps,
      durable.version,
    );
    this.channel = new TaskChannel(taskId, origin, {
      ...parts,
      signal,
      parking,
      call,
      mayAsk,
      durable: steps && { steps, waits, run: claim!.run },
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Fires the signal that its tool was given. */
  fire(reason: string): void {
    const { log } = this.parts;
    fire(this.#abort, reason, {
      log,
      reference: () => this.taskId,
      code: () => this.channel.authorCode,
    });
  }

  /** Does the work, and ends the task with its result or exception. */
  async run(
    work: (context: CallContext) => Promise<CallToolResult>,
  ): Promise<void> {
    const { taskId, parts: { log } } = this;
    try {
      await this.#watched(() => work(new CallContext(this.channel)));
    } catch (error) {
      log.error("A task could not be ended", { reference: taskId, error });
    }
  }

  async #watched(work: () => Promise<CallToolResult>): Promise<void> {
    const { signal, taskId, parking } = this;
    const { authorCode, status } = this.channel;
    this.#watch.start((ending) => {
      if (signal.aborted) return;
      this.#onAbort = ending;
      this.fire("The task has ended");
    });
    try {
      const ending = await orAborted(signal, async () => {
        const result = await authorCode.wait(work());
        this.#steps?.end();
        return authorCode.cleanData(result);
      }).then(
        resultEnding,
        (error) =>
          signal.aborted
            ? this.#onAbort
            : endingOf(authorCode.clean(error), taskId, this.parts),
      );
      parking.end();
      const statusMessage = await status.end();
      if (ending) await this.end(ending, statusMessage);
    } finally {
      await this.#watch.stop();
      // Parallel work of the tool ends too.
      if (this.claim || authorCode.reason !== undefined) {
        this.fire("The run has ended");
      }
    }
  }

  /** Leaves durable work to other processes. A plain task ends here. */
  async leave(): Promise<void> {
    const { claim, parts: { runs, database } } = this;
    if (claim) {
      await persist(
        () => runs.park(claim, database.now()),
        { forMilliseconds: STOP_MILLISECONDS },
        // The lease then lapses, and another process takes over.
      ).catch(() => {});
    }
    this.fire(STOPPING);
  }

  /** Stores the end of the task, and reports it. */
  async end(settled: SettledTask, statusMessage?: string): Promise<void> {
    const { taskId, claim } = this;
    const { tasks, stopping: signal } = this.parts;
    const { caller } = this.origin;
    const report = ({ outcome }: Pick<SettledTask, "outcome">) =>
      this.origin.endTask(taskId, outcome);
    const save = async (ending: SettledTask) => {
      const end = { ...taskEndOf(ending), statusMessage };
      const isSaved = await persist(
        () => tasks.end(taskId, end, claim),
        { signal },
      );
      return { ending, isSaved };
    };
    const { ending, isSaved } = await save(settled).catch((error) => {
      if (error instanceof HttpError) {
        // The end may be stored all the same: better reported twice than never.
        report(settled);
        throw error;
      }
      // The result has a value that JSON cannot express.
      return save(failedEnding(error, taskId, this.parts));
    });
    if (isSaved) return report(ending);
    // The end of durable work is reported by the process that stored it.
    if (claim) return;
    // A plain task that had ended already was ended by its client.
    const found = await persist(
      () => tasks.find(taskId, caller.binding),
      { signal },
    ).catch(() => undefined);
    report(found?.status === "cancelled" ? { outcome: "cancelled" } : ending);
  }

  /** Stores a step, and counts a try that has failed. */
  async #store(claim: Claim, step: Step): Promise<boolean> {
    const { steps, failures } = this.parts;
    const isSaved = await steps.save(claim, step);
    if (step.error) {
      failures.note({ tool: claim.run.tool, step: nameOfStep(step.id) });
    }
    return isSaved;
  }
}

/** Returns the latest time at which a run got further, in epoch seconds. */
function progressOf({ claim, steps }: DurableState): number {
  const ends = steps.map(({ startedAt, endedAt, until, state }) =>
    state === "kept" ? endedAt ?? until ?? startedAt : startedAt
  );
  return Math.max(claim.run.createdMilliseconds / 1000, ...ends);
}

/** Does work, but no longer waits for it once the signal has fired. */
async function orAborted<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason));
  return await Promise.race([work(), aborted]);
}
