/**
 * The parking of a task's work. A run that only waits leaves its process. Any
 * process goes on with it once its time or its answer has come.
 *
 * @module
 */
import { pause } from "../../core/clock.ts";

/** The longest wait for which a run stays in its process. */
const SHORT_SECONDS = 5;
/** The time for which a run must only wait before it leaves its process. */
const QUIET_MILLISECONDS = 200;
/**
 * The shortest and the longest pause between tries of a run that no event
 * wakes.
 */
const LEAST_AGAIN_SECONDS = 60;
const MAX_AGAIN_SECONDS = 12 * 60 * 60;
/** The longest time that one timer can take. */
const MAX_TIMER_MILLISECONDS = 24 * 60 * 60 * 1000;

/** The interruption of a run that leaves its process, and goes on elsewhere. */
export class Parked extends Error {
  override name = "Parked";
}

/** A wait during which the run needs no process. */
interface Waiting {
  /**
   * The end of the wait in epoch seconds; undefined if only an answer ends it.
   */
  until?: number;
  question?: string;
  /** The database key of the record that gets the answer. */
  wait?: Deno.KvKey;
  /** The text that tells the client why the run waits; absent for a sleep. */
  waitsFor?: string;
}

export interface ParkedWaits {
  /**
   * The earliest end of a wait, in epoch seconds. Undefined if only answers end
   * the waits.
   */
  dueSeconds?: number;
  /** The keys of the questions that wait for an answer. */
  questions: readonly string[];
  /** The database keys of the records that get answers from outside. */
  waits: readonly Deno.KvKey[];
  waitsFor?: string;
}

export interface ParkingOptions {
  signal: AbortSignal;
  /** The time of the run's last progress, in epoch seconds. */
  startedAt: number;
  /** Epoch seconds, to the millisecond. */
  now(): number;
  /**
   * Gives up the claim, so that any process can go on with the run later. Keeps
   * the claim if an answer has come already. Absent for plain tasks.
   */
  park?(waits: ParkedWaits): Promise<"parked" | "answered" | "lost">;
  interrupt(reason: unknown): Promise<never>;
  /** Ends work that cannot be parked. */
  stop(): void;
}

export class Parking {
  readonly #waiting = new Set<Waiting>();
  /** The number of step functions and writes that are under way. */
  #active = 0;
  #isReleased = false;
  #isOver = false;
  /** Ends the current timers, so that the clock is read again. */
  #rechecked = new AbortController();
  #quiet?: ReturnType<typeof setTimeout>;

  /** The latest time at which the run made progress, in epoch seconds. */
  progressAt: number;

  constructor(private readonly options: ParkingOptions) {
    this.progressAt = options.startedAt;
  }

  /** True once the run has to leave its process. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  now(): number {
    return this.options.now();
  }

  /** Returns the time `seconds` from now, on the clock of the run. */
  after(seconds: number): number {
    return Math.round((this.now() + seconds) * 1000) / 1000;
  }

  /**
   * The seconds until a run tries again what failed, if no event will wake it,
   * such as a service that gave no token. The pause is at least as long as the
   * run has waited so far, so that long waits cost next to nothing. A random
   * part is added, so that many runs do not try at once.
   */
  get againSeconds(): number {
    const waited = this.now() - this.progressAt;
    const least = Math.max(waited, LEAST_AGAIN_SECONDS);
    const seconds = Math.min(least, MAX_AGAIN_SECONDS) * (1 + Math.random());
    return Math.ceil(seconds);
  }

  /** True once the run has ended in this process. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * The time at which the run goes on, in epoch seconds. Undefined unless it
   * only waits, and stays in this process.
   */
  get until(): number | undefined {
    if (this.#active > 0 || this.#isLong) return undefined;
    const until = this.#nextUntil;
    return until > this.options.now() ? until : undefined;
  }

  /** True if the run waits for long: no wait ends within seconds. */
  get #isLong(): boolean {
    return this.#nextUntil > this.options.now() + SHORT_SECONDS;
  }

  /** The earliest end of a wait; infinite if only answers end the waits. */
  get #nextUntil(): number {
    const untils = [...this.#waiting].map(({ until = Infinity }) => until);
    return Math.min(...untils);
  }

  /** Reads the clock again, after it has jumped. */
  recheck(): void {
    this.#rechecked.abort();
    this.#rechecked = new AbortController();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#quiet);
  }

  /** Parks the run as soon as no step or write is under way. */
  release(): void {
    this.#isReleased = true;
    if (this.#waiting.size > 0) this.#leaveWhenQuiet();
  }

  /**
   * Parks the run as soon as no step is under way. The promise never settles.
   */
  async never(): Promise<never> {
    this.#leaveWhenQuiet();
    return await new Promise(() => {});
  }

  /** Waits until a time, in epoch seconds. `enough` ends the wait early. */
  async waitUntil(
    until: number,
    { enough, ...waiting }:
      & { enough?: AbortSignal }
      & Pick<Waiting, "wait" | "waitsFor"> = {},
  ): Promise<void> {
    const { signal, now } = this.options;
    await this.wait({ until, ...waiting }, async () => {
      for (let left = until - now(); left > 0; left = until - now()) {
        if (enough?.aborted) return;
        await pause(
          Math.min(left * 1000, MAX_TIMER_MILLISECONDS),
          AbortSignal.any([signal, enough ?? signal, this.#rechecked.signal]),
        );
        if (signal.aborted) return await new Promise(() => {});
      }
    });
  }

  /** Awaits a function that only waits. During it the run may be parked. */
  async wait<T>(waiting: Waiting, work: () => Promise<T>): Promise<T> {
    this.#waiting.add(waiting);
    this.#leaveWhenQuiet();
    try {
      return await work();
    } finally {
      this.#waiting.delete(waiting);
      this.#leaveWhenQuiet();
    }
  }

  /**
   * Awaits a function that needs this process. During it the run is not parked.
   */
  async activity<T>(work: () => Promise<T>): Promise<T> {
    this.#active++;
    clearTimeout(this.#quiet);
    try {
      return await work();
    } finally {
      this.#active--;
      this.#leaveWhenQuiet();
    }
  }

  /**
   * Parks a run that only waits: at once if it was released, otherwise after
   * {@linkcode QUIET_MILLISECONDS}.
   */
  #leaveWhenQuiet(): void {
    clearTimeout(this.#quiet);
    if (this.#isOver || this.#active > 0) return;
    const { park, stop } = this.options;
    if (!park) {
      if (this.#isReleased && this.#waiting.size > 0) stop();
    } else if (this.#isReleased) this.#leave(park);
    else if (this.#waiting.size > 0 && this.#isLong) {
      this.#quiet = setTimeout(() => this.#leave(park), QUIET_MILLISECONDS);
    }
  }

  #leave(park: NonNullable<ParkingOptions["park"]>): void {
    const { now, interrupt, signal } = this.options;
    const waiting: Waiting[] = this.#isReleased
      ? [{ until: Math.floor(now()) }]
      : [...this.#waiting];
    const untils = waiting.flatMap(({ until }) => until ?? []);
    park({
      dueSeconds: untils.length > 0 ? Math.min(...untils) : undefined,
      questions: waiting.flatMap(({ question }) => question ?? []),
      waits: waiting.flatMap(({ wait }) => wait ? [wait] : []),
      waitsFor: waiting.flatMap(({ waitsFor }) => waitsFor ?? []).at(-1),
    }).then(
      (parked) => {
        if (parked !== "answered") return void interrupt(new Parked());
        // A question has its answer already, or is not stored yet: the run goes
        // on, and tries to park again later.
        this.#leaveWhenQuiet();
      },
      // The database is away: the run goes on, and tries to park again later.
      async () => {
        await pause(QUIET_MILLISECONDS, signal);
        this.#leaveWhenQuiet();
      },
    );
  }
}
