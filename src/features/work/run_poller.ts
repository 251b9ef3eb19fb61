/**
 * Polls for durable work whose time has come, or whose process has died, and
 * claims it within limits.
 *
 * @module
 */
import { pause } from "../../core/clock.ts";
import { logRepeated } from "../../core/log/log.ts";
import { bestEffort } from "../../core/kv/operations.ts";
import { type Claim, type Wake, wakeStore } from "./run_record.ts";
import { outsideTrace } from "../../core/telemetry/current.ts";
import { CallerBound } from "../../core/mcp/exchange/limits.ts";
import {
  type TaskParts,
  WAITS_FOR_NEXT_TRY,
  WAITS_FOR_OTHERS,
  waitsForTurn,
} from "./task_work.ts";

const MAX_RUNS_PER_ROUND = 32;
/** The maximum number of taken-over runs at a time in this process. */
const MAX_TAKEN = 200;
/**
 * The maximum number of taken-over runs of one caller. A caller also gets at
 * most half of the runs that this process may still take, so that others get
 * some. A credential or a network that many people share gets twice as many.
 */
export const MAX_TAKEN_PER_CALLER = 50;
const FREE_SHARE = 1 / 2;
/**
 * The seconds until the next try for a run whose caller has too many runs in
 * this process.
 */
const BUSY_SECONDS = 60;
/** The seconds until the next attempt to take over a run. */
const AGAIN_SECONDS = 30;
/**
 * The maximum number of postponed runs that are tried again in the same second.
 */
const MAX_NO_ROOM_PER_SECOND = 8;
/**
 * If this process does not know the tool or steps of a run, it leaves the run
 * to other processes for these seconds. Otherwise the process that polls first
 * would take the run each time.
 */
const LEFT_SECONDS = 3;
const MAX_LEFT = 1000;
/**
 * The maximum number of characters of stored results of all taken-over runs.
 */
const MAX_CHARACTERS = 32 * 1024 * 1024;
const POLL_MILLISECONDS = 1000;

/** The parts of a process that take work over. */
export interface Poller
  extends Pick<TaskParts, "database" | "runs" | "steps" | "log" | "stopping"> {
  /**
   * The server addresses whose work is taken over. The address is empty for
   * callers who are the same at every address.
   */
  addresses(): readonly string[];
  /**
   * Resumes a run, and returns a promise of its end in this process. Returns
   * `no room` if the tool's limit is reached, `left` if another process may do
   * the work, and undefined if nothing is left to do.
   */
  takeOver(
    claim: Claim,
  ): Promise<{ done: Promise<void> } | "no room" | "left" | undefined>;
}

export class RunPoller {
  readonly #bound = new CallerBound(MAX_TAKEN_PER_CALLER, "tasks", 2);
  readonly #wakes;
  /**
   * Runs whose process may have died. The next round reads that many more runs,
   * so that these do not delay others.
   */
  readonly #watched = new Set<string>();
  /** Runs that this process has left to others. */
  readonly #left = new Set<string>();
  #taken = 0;
  #characters = 0;
  /** The number of runs that this poll has postponed. */
  #withoutRoom = 0;
  /** The latest measurement of a run's results. Measurements do not overlap. */
  #measuring: Promise<unknown> = Promise.resolve();
  #hasEnded = false;
  #timer?: ReturnType<typeof setInterval>;
  #polledMilliseconds = -Infinity;
  #polling?: Promise<void>;

  constructor(private readonly parts: Poller) {
    this.#wakes = wakeStore(parts.database);
  }

  /**
   * Polls once a second from now on: by a timer, and with each request, because
   * some platforms stop timers between requests.
   */
  notice(): void {
    if (this.#hasEnded) return;
    this.#timer ??= outsideTrace(() =>
      setInterval(() => this.poll(), POLL_MILLISECONDS)
    );
    const passed = performance.now() - this.#polledMilliseconds;
    if (passed >= POLL_MILLISECONDS) outsideTrace(() => this.poll());
  }

  /** Claims runs whose time has come. Simultaneous calls share one poll. */
  poll(): Promise<void> {
    this.#polledMilliseconds = performance.now();
    return this.#alone(() => this.#claimDue());
  }

  /** Moves the clock of a test while no poll runs, and then polls. */
  async jumpThenPoll(jump: () => Promise<void>): Promise<void> {
    while (this.#polling) await this.#polling;
    await this.#alone(jump);
    await this.poll();
  }

  /** Stops polling for good. */
  end(): void {
    this.#hasEnded = true;
    clearInterval(this.#timer);
  }

  /** Waits until no run is being taken over. */
  async settled(): Promise<void> {
    while (this.#polling) await this.#polling;
  }

  #alone(work: () => Promise<void>): Promise<void> {
    return this.#polling ??= work().catch((error) =>
      logRepeated(this.parts.log, "Durable work could not be claimed", {
        error,
      })
    ).finally(() => this.#polling = undefined);
  }

  /**
   * Claims runs in rounds. Pauses after each round for as long as it took, so
   * that calls in this process get their turn.
   */
  async #claimDue(): Promise<void> {
    this.#withoutRoom = 0;
    while (!this.#hasEnded && this.#taken < MAX_TAKEN) {
      const began = performance.now();
      if (!await this.#takeSome()) return;
      await pause(performance.now() - began, this.parts.stopping);
    }
  }

  /** Claims one round of runs. Returns true if there may be more. */
  async #takeSome(): Promise<boolean> {
    const most = MAX_RUNS_PER_ROUND + Math.min(this.#watched.size, MAX_TAKEN);
    const due = await this.#wakes.due(most, this.parts.addresses());
    this.#watched.clear();
    for (let start = 0; start < due.length; start += MAX_RUNS_PER_ROUND) {
      const some = due.slice(start, start + MAX_RUNS_PER_ROUND);
      await Promise.all(some.map((wake) => this.#take(wake)));
    }
    return due.length === most && this.#watched.size < due.length;
  }

  async #take(wake: Wake): Promise<void> {
    const { taskId } = wake;
    const { database, runs, steps, log } = this.parts;
    if (this.#left.has(taskId)) {
      if (database.now() - wake.dueSeconds < LEFT_SECONDS) return;
      this.#left.delete(taskId);
    }
    const taken = await runs.take(wake, () => {
      const measure = this.#measuring.then(() => steps.sizeOf(taskId));
      this.#measuring = measure.catch(() => {});
      return measure;
    });
    if ("claim" in taken) {
      const { claim, claim: { run: { deaths } } } = taken;
      return await this.#takeOver(claim).catch(async (error) => {
        logRepeated(log, "Durable work could not be taken over", {
          reference: taskId,
          error,
        });
        // Without this, the lease would expire, which counts as the death of a
        // process.
        const again = database.now() + AGAIN_SECONDS;
        const more = { deaths, waitsFor: WAITS_FOR_NEXT_TRY };
        await bestEffort(() => runs.park(claim, again, [], more));
      });
    }
    const { because } = taken;
    if (because === "watched") this.#watched.add(taskId);
    if (because === "ended" || because === "held") await this.#wakes.drop(wake);
  }

  /** Resumes a claimed run, or postpones it if a limit is reached. */
  async #takeOver(claim: Claim): Promise<void> {
    const { database, runs, log, takeOver } = this.parts;
    const { taskId, run: { tool, limitKey, deaths, characters } } = claim;
    const putOff = async (seconds: number, waitsFor = WAITS_FOR_OTHERS) => {
      const more = { deaths, waitsFor };
      await runs.park(claim, database.now() + seconds, [], more);
    };
    const putOffInTurn = (waitsFor?: string) => {
      const others = Math.floor(this.#withoutRoom++ / MAX_NO_ROOM_PER_SECOND);
      return putOff(1 + others, waitsFor);
    };
    const share = (MAX_TAKEN - this.#taken) * FREE_SHARE;
    const most = Math.min(share, MAX_TAKEN_PER_CALLER);
    // The work of one caller must not delay that of others.
    if (!this.#bound.hasRoom(limitKey, most)) return await putOff(BUSY_SECONDS);
    if (this.#characters + characters > MAX_CHARACTERS) {
      return await putOffInTurn();
    }
    this.#bound.count(limitKey);
    this.#taken++;
    this.#characters += characters;
    let takeover: Awaited<ReturnType<typeof takeOver>>;
    try {
      takeover = await takeOver(claim);
    } finally {
      if (typeof takeover !== "object") this.#release(claim);
    }
    if (takeover === "no room") return await putOffInTurn(waitsForTurn(tool));
    if (takeover === "left") {
      if (this.#left.size === MAX_LEFT) this.#left.clear();
      this.#left.add(taskId);
      return;
    }
    if (takeover && deaths > 0) {
      log.info("Durable work of a dead process goes on in this one", {
        reference: taskId,
        tool,
        deaths,
      });
    }
    takeover?.done.finally(() => this.#release(claim));
  }

  #release({ run: { limitKey, characters } }: Claim): void {
    this.#bound.release(limitKey);
    this.#taken--;
    this.#characters -= characters;
  }
}
