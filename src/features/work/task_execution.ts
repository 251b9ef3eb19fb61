/**
 * A task that runs in this process. When the process stops, a plain task fails,
 * and another process resumes durable work.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { unlessAborted } from "../../core/clock.ts";
import { HttpError } from "../../core/errors.ts";
import { untilReachable } from "../../core/kv/operations.ts";
import type { Claim } from "./run_record.ts";
import { nameOfStep, type Step } from "./steps.ts";
import { abortSafely } from "../../core/mcp/exchange/author_code.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import {
  LIVE_MILLISECONDS,
  PERMISSION_ENDED,
  STOPPING,
} from "../../core/mcp/exchange/running.ts";
import { durableRun } from "./journal.ts";
import { DurableSteps } from "./durable_steps.ts";
import { Parking } from "./parking.ts";
import { TaskChannel } from "./task_channel.ts";
import {
  type CallInProgress,
  CANCELLED,
  type DurableState,
  endingOf,
  EXPELLED,
  failedTaskEnding,
  type OriginCall,
  PAUSED,
  resultEnding,
  type SettledTask,
  STOPPED,
  taskEndOf,
  type TaskOrigin,
  type TaskParts,
} from "./task_work.ts";
import { cutOff } from "./tasks.ts";
import { logRepeated } from "../../core/log/log.ts";
import { HEARTBEAT_SECONDS } from "../../core/kv/leases.ts";

const STOP_MILLISECONDS = 5000;

interface TaskStart extends Partial<Pick<CallInProgress, "mayAsk">> {
  taskId: string;
  origin: TaskOrigin;
  /** The running call that became the task. */
  call?: OriginCall;
  durable?: DurableState;
}

export class TaskExecution {
  readonly taskId: string;
  readonly origin: TaskOrigin;
  readonly claim?: Claim;
  readonly parking: Parking;
  /** The {@linkcode Work} behind the task's context. */
  readonly channel: TaskChannel;
  readonly #abort = new AbortController();
  readonly #steps?: DurableSteps;
  /**
   * The end of the task when the signal fires. Undefined for durable work,
   * which another process resumes.
   */
  #onAbort?: SettledTask;

  constructor(
    private readonly parts: TaskParts,
    { taskId, origin, call, mayAsk = true, durable }: TaskStart,
  ) {
    const { runs, database, waits } = parts;
    const claim = this.claim = durable?.claim;
    const { signal } = this;
    const interrupt = (reason: unknown) =>
      this.channel.authorCode.interrupt(reason);
    this.taskId = taskId;
    this.origin = origin;
    this.#onAbort = claim ? undefined : STOPPED;
    const parking = this.parking = new Parking({
      signal,
      now() {
        return database.clock() / 1000;
      },
      interrupt,
      stop: () => this.fire(STOPPING),
      startedAt: durable ? progressOf(durable) : database.now(),
      park: claim && (async ({ dueSeconds, questions, waits, waitsFor }) => {
        // The progress is written now, so that the next run does not send it
        // again.
        await this.channel.status.write();
        return await runs.park(claim, dueSeconds, questions, {
          waits,
          ...this.parking.isPaused
            ? { waitsFor: PAUSED, pausedSince: database.now() }
            : { waitsFor: waitsFor ?? this.channel.link },
        });
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
        isAllowed: () => this.#isAllowed(),
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

  fire(reason: string): void {
    const { log } = this.parts;
    abortSafely(this.#abort, reason, {
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
      const { Context = CallContext } = this.parts;
      await this.#watched(() => work(new Context(this.channel)));
    } catch (error) {
      log.error("A task could not be ended", { reference: taskId, error });
    }
  }

  async #watched(work: () => Promise<CallToolResult>): Promise<void> {
    const { signal, taskId, parking } = this;
    const { authorCode, status } = this.channel;
    const stopWatching = this.#watch((ending) => {
      if (signal.aborted) return;
      this.#onAbort = ending;
      const isCut = ending === EXPELLED && !this.claim;
      this.fire(isCut ? PERMISSION_ENDED : "The task has ended");
    });
    const run = async () => {
      signal.throwIfAborted();
      const result = await authorCode.wait(work());
      this.#steps?.end();
      return authorCode.cleanData(result);
    };
    try {
      const ending = await unlessAborted(signal, run()).then(
        resultEnding,
        (error) =>
          signal.aborted
            ? this.#onAbort && {
              ...this.#onAbort,
              error: cutOff(this.#onAbort.error!, this.channel.ifCut),
            }
            : endingOf(authorCode.clean(error), taskId, this.parts),
      );
      parking.end();
      const statusMessage = await status.end();
      if (ending) await this.end(ending, statusMessage);
    } finally {
      await stopWatching();
      // Parallel work of the tool ends too.
      if (this.claim || authorCode.reason !== undefined) {
        this.fire("The run has ended");
      }
    }
  }

  /**
   * True while the first or the last grant that used the task is alive.
   * `paused` if neither is, but one is paused and the work is durable.
   */
  async #isAllowed(): Promise<boolean | "paused"> {
    const { taskId, origin: { authenticated, caller } } = this;
    // The MCP session of a client is not checked: its task outlives it.
    const first = await authenticated.isLive?.() ?? true;
    if (first === true) return true;
    const grantId = await this.parts.tasks.userOf(taskId, caller.binding);
    const last = await authenticated.isLive?.(grantId);
    return last === true ||
      this.claim !== undefined && (first || last || false);
  }

  /**
   * Watches the task's lease, its caller's rights, and its record, because a
   * client may end the task through any process. Returns the function that ends
   * the watch.
   *
   * @param end ends the task in this process
   */
  #watch(end: (ending: SettledTask | undefined) => void): () => Promise<void> {
    const { claim, taskId, parking, parts: { tasks, runs, log } } = this;
    const every = (
      milliseconds: number,
      complaint: string,
      check: () => Promise<boolean | "paused">,
      ending: SettledTask | undefined,
    ) =>
      setInterval(async () => {
        try {
          const isRight = await check();
          if (!isRight) end(ending);
          if (isRight === "paused") parking.pause();
        } catch (error) {
          logRepeated(log, complaint, { reference: taskId, error });
        }
      }, milliseconds);
    const timers = [
      every(
        HEARTBEAT_SECONDS * 1000,
        UNRENEWED,
        () => claim ? runs.renew(claim) : tasks.renewLease(taskId),
        this.#onAbort,
      ),
      every(LIVE_MILLISECONDS, UNREAD, () => this.#isAllowed(), EXPELLED),
    ];
    const over = new AbortController();
    // If this wait fails, the heartbeat notices the end of the task a little
    // later.
    const watching = tasks.ended(taskId, over.signal)
      .then(() => end(CANCELLED), () => {});
    return async () => {
      for (const timer of timers) clearInterval(timer);
      over.abort();
      await watching;
    };
  }

  /** Leaves durable work to other processes; ends a plain task. */
  async leave(): Promise<void> {
    const { claim, parts: { runs, database } } = this;
    if (claim) {
      // Another process may claim the run before this one learns that the run
      // is parked.
      this.parking.end();
      await untilReachable(
        () => runs.park(claim, database.now()),
        { forMilliseconds: STOP_MILLISECONDS },
        // If the run cannot be parked, its lease expires, and another process
        // takes over.
      ).catch(() => {});
    }
    this.fire(STOPPING);
  }

  /** Stores the end of the task, and logs it. */
  async end(settled: SettledTask, statusMessage?: string): Promise<void> {
    const { taskId, claim } = this;
    const { tasks, stopping: signal } = this.parts;
    const { caller } = this.origin;
    const report = ({ outcome }: Pick<SettledTask, "outcome">) =>
      this.origin.endTask(taskId, outcome);
    const save = async (ending: SettledTask) => {
      const end = { ...taskEndOf(ending), statusMessage };
      const isSaved = await untilReachable(
        () => tasks.end(taskId, end, claim),
        { signal },
      );
      return { ending, isSaved };
    };
    const { ending, isSaved } = await save(settled).catch((error) => {
      if (error instanceof HttpError) {
        // The end may be stored all the same. A second report is better than
        // none.
        report(settled);
        throw error;
      }
      // The result has a value that JSON cannot express.
      return save(failedTaskEnding(error, taskId, this.parts));
    });
    if (isSaved) return report(ending);
    // The process that stored the end of durable work also reports it.
    if (claim) return;
    // A plain task that had ended already was ended by its client.
    const found = await untilReachable(
      () => tasks.find(taskId, caller.binding),
      { signal },
    ).catch(() => undefined);
    report(found?.status === "cancelled" ? { outcome: "cancelled" } : ending);
  }

  /** Stores a step, and counts its failed try, if any. */
  async #store(claim: Claim, step: Step): Promise<boolean> {
    const { steps, failures } = this.parts;
    const isSaved = await steps.save(claim, step);
    if (step.error) {
      failures.note({ tool: claim.run.tool, step: nameOfStep(step.id) });
    }
    return isSaved;
  }
}

/** Returns the latest time at which a run made progress, in epoch seconds. */
function progressOf({ claim, steps }: DurableState): number {
  const ends = steps.map(({ startedAt, endedAt, until, state }) =>
    state === "kept" ? endedAt ?? until ?? startedAt : startedAt
  );
  return Math.max(claim.run.createdMilliseconds / 1000, ...ends);
}

const UNRENEWED = "A task's lease could not be renewed";
const UNREAD = "A task's grant could not be read";
