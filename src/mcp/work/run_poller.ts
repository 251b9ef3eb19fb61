/**
 * The poller of durable work whose time has come, or whose process is gone: it
 * claims the work for this process, as long as there is a place for it.
 *
 * @module
 */
import { pause } from "../../clock.ts";
import { logRepeated } from "../../log/log.ts";
import type { Claim } from "../../store/run_record.ts";
import { type Wake, wakeStore } from "../../store/wakes.ts";
import { detached } from "../../telemetry/current.ts";
import { CallerBound } from "../exchange/caller_bound.ts";
import type { TaskParts } from "./task_parts.ts";

/** The most runs that one round of a look takes. */
const RUNS_PER_ROUND = 32;
/** The most runs that are taken over as long as they are at work. */
const MAX_TAKEN = 200;
/**
 * The most runs of one caller, and never more than half of the free places, so
 * that a few people who work together leave some to others; twice as many for
 * a caller that may be many people.
 */
export const MAX_TAKEN_PER_CALLER = 50;
const FREE_SHARE = 1 / 2;
/** The time until another look at work whose caller has so many. */
const BUSY_SECONDS = 60;
/** The runs without room that are looked at again in the same second. */
const NO_ROOM_PER_SECOND = 8;
/** The most characters of results that runs have together as they are taken. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
const LOOK_MILLISECONDS = 1000;

/** The parts of a process that takes work over. */
export interface Poller
  extends Pick<TaskParts, "database" | "runs" | "steps" | "log" | "stopping"> {
  /** The addresses whose work is taken; an empty one is that of any server. */
  addresses(): readonly string[];
  /** Goes on with a run; undefined where it does not work on it. */
  takeOver(
    claim: Claim,
  ): Promise<{ done: Promise<void> } | "no room" | undefined>;
}

export class RunPoller {
  readonly #bound = new CallerBound(MAX_TAKEN_PER_CALLER, "tasks", 2);
  readonly #parts: Poller;
  readonly #wakes;
  /** Runs that may have died: the others must not wait behind them. */
  readonly #watched = new Set<string>();
  #taken = 0;
  #characters = 0;
  /** The runs of this look for which there was no room. */
  #withoutRoom = 0;
  /** The latest measuring: long results are not read side by side. */
  #measuring: Promise<unknown> = Promise.resolve();
  #hasEnded = false;
  #timer?: ReturnType<typeof setInterval>;
  #lookedMilliseconds = -Infinity;
  #looking?: Promise<void>;

  constructor(parts: Poller) {
    this.#parts = parts;
    this.#wakes = wakeStore(parts.database);
  }

  /**
   * Looks from now on, once a second: by a timer, and with requests, for a
   * process that sleeps in between.
   */
  notice(): void {
    if (this.#hasEnded) return;
    this.#timer ??= detached(() =>
      setInterval(() => this.look(), LOOK_MILLISECONDS)
    );
    const passed = performance.now() - this.#lookedMilliseconds;
    if (passed >= LOOK_MILLISECONDS) detached(() => this.look());
  }

  /** Takes the runs whose time has come: one bounded read, and what it found. */
  look(): Promise<void> {
    this.#lookedMilliseconds = performance.now();
    return this.#alone(() => this.#look());
  }

  /** Keeps looks away while the clock of a test jumps, then looks. */
  async jumpThenLook(jump: () => Promise<void>): Promise<void> {
    while (this.#looking) await this.#looking;
    await this.#alone(jump);
    await this.look();
  }

  /** Takes no more work. */
  end(): void {
    this.#hasEnded = true;
    clearInterval(this.#timer);
  }

  /** Waits until nothing is being taken. */
  async settled(): Promise<void> {
    while (this.#looking) await this.#looking;
  }

  #alone(look: () => Promise<void>): Promise<void> {
    return this.#looking ??= look().catch((error) =>
      logRepeated(this.#parts.log, "Durable work could not be looked at", {
        error,
      })
    ).finally(() => this.#looking = undefined);
  }

  /** Takes what is due, in rounds, and leaves half of the time to calls. */
  async #look(): Promise<void> {
    this.#withoutRoom = 0;
    while (!this.#hasEnded && this.#taken < MAX_TAKEN) {
      const began = performance.now();
      if (!await this.#takeSome()) return;
      await pause(performance.now() - began, this.#parts.stopping);
    }
  }

  /** Takes a round of the work that is due; true if there is more of it. */
  async #takeSome(): Promise<boolean> {
    const most = RUNS_PER_ROUND + Math.min(this.#watched.size, MAX_TAKEN);
    const due = await this.#wakes.due(most, this.#parts.addresses());
    this.#watched.clear();
    for (let start = 0; start < due.length; start += RUNS_PER_ROUND) {
      const some = due.slice(start, start + RUNS_PER_ROUND);
      await Promise.all(some.map((wake) => this.#take(wake)));
    }
    return due.length === most && this.#watched.size < due.length;
  }

  async #take(wake: Wake): Promise<void> {
    const { taskId } = wake;
    const { runs, steps, log } = this.#parts;
    const taken = await runs.take(wake, () => {
      const measure = this.#measuring.then(() => steps.sizeOf(taskId));
      this.#measuring = measure.catch(() => {});
      return measure;
    });
    if ("claim" in taken) {
      return await this.#takeOver(taken.claim).catch((error) =>
        // Its lease lapses, and someone looks again.
        logRepeated(log, "Durable work could not be taken over", {
          reference: taskId,
          error,
        })
      );
    }
    const { because } = taken;
    if (because === "watched") this.#watched.add(taskId);
    if (because === "ended" || because === "held") await this.#wakes.drop(wake);
  }

  /** Goes on with a run that was taken, if there is a place for it. */
  async #takeOver(claim: Claim): Promise<void> {
    const { database, runs, takeOver } = this.#parts;
    const { run: { countedAs, deaths, characters } } = claim;
    const putOff = async (seconds: number) =>
      void await runs.park(claim, database.now() + seconds, [], { deaths });
    const putOffInTurn = () =>
      putOff(1 + Math.floor(this.#withoutRoom++ / NO_ROOM_PER_SECOND));
    const share = (MAX_TAKEN - this.#taken) * FREE_SHARE;
    const most = Math.min(share, MAX_TAKEN_PER_CALLER);
    // Others' work must not wait for one caller's.
    if (!this.#bound.hasRoom(countedAs, most)) {
      return await putOff(BUSY_SECONDS);
    }
    if (this.#characters + characters > MAX_CHARACTERS) {
      return await putOffInTurn();
    }
    this.#bound.count(countedAs);
    this.#taken++;
    this.#characters += characters;
    let begun: Awaited<ReturnType<typeof takeOver>>;
    try {
      begun = await takeOver(claim);
    } finally {
      if (typeof begun !== "object") this.#release(claim);
    }
    if (begun === "no room") return await putOffInTurn();
    begun?.done.finally(() => this.#release(claim));
  }

  #release({ run: { countedAs, characters } }: Claim): void {
    this.#bound.release(countedAs);
    this.#taken--;
    this.#characters -= characters;
  }
}
