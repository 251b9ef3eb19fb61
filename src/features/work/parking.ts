/**
 * Parking: a run that only waits is removed from its process. Any process
 * resumes it at its time, or after its answer.
 *
 * @module
 */
import { pause } from "../../core/clock.ts";

/** The longest wait for which a run is not parked, in seconds. */
const SHORT_SECONDS = 5;
/** The time for which a run must do nothing but wait before it is parked. */
const QUIET_MILLISECONDS = 200;
const LEAST_AGAIN_SECONDS = 60;
const MAX_AGAIN_SECONDS = 12 * 60 * 60;
/** The seconds for which a run is parked when its caller is paused. */
const PAUSED_SECONDS = 60;
/** The longest time that one timer can take. */
const MAX_TIMER_MILLISECONDS = 24 * 60 * 60 * 1000;

/** The reason that interrupts a run in this process: the run is parked. */
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
  /** The database key of the record that will hold the answer. */
  wait?: Deno.KvKey;
  /** The text that tells the client why the run waits; absent for a sleep. */
  waitsFor?: string;
}

/**
 * Returns the seconds until the next try of a run that has waited for `waited`
 * seconds: at least as many, so that long waits cost next to nothing. A random
 * part keeps many runs from trying at once.
 *
 * @param most the maximum without the random part
 */
export function secondsAfter(waited: number, most: number): number {
  const seconds = Math.min(Math.max(waited, LEAST_AGAIN_SECONDS), most);
  return Math.ceil(seconds * (1 + Math.random()));
}

export interface ParkedWaits {
  /**
   * The earliest end of a wait, in epoch seconds. Undefined if only answers end
   * the waits.
   */
  dueSeconds?: number;
  /** The keys of the open questions. */
  questions: readonly string[];
  /** The database keys of the records that will hold answers from outside. */
  waits: readonly Deno.KvKey[];
  waitsFor?: string;
}

export interface ParkingOptions {
  signal: AbortSignal;
  /** The time of the run's last progress so far, in epoch seconds. */
  startedAt: number;
  /** Returns epoch seconds, to the millisecond. */
  now(): number;
  /**
   * Releases the claim, so that any process can resume the run. Keeps it if an
   * answer has already come. Absent for plain tasks.
   */
  park?(waits: ParkedWaits): Promise<"parked" | "answered" | "lost">;
  interrupt(reason: unknown): Promise<never>;
  /** Ends work that cannot be parked. */
  stop(): void;
}

export class Parking {
  readonly #waiting = new Set<Waiting>();
  /** The number of step functions and writes in progress. */
  #active = 0;
  #isReleased = false;
  /** The seconds for which the released run is left alone. */
  #leftSeconds = 0;
  #isOver = false;
  /** Ends the current timers when the clock must be read again. */
  #rechecked = new AbortController();
  #quiet?: ReturnType<typeof setTimeout>;

  /** The latest time at which the run made progress, in epoch seconds. */
  progressAt: number;

  constructor(private readonly options: ParkingOptions) {
    this.progressAt = options.startedAt;
  }

  /** True once the run must be parked. */
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
   * The seconds until the next try after a failure, such as a service that gave
   * no token, if no event tells when the failure is over.
   */
  get againSeconds(): number {
    return secondsAfter(this.now() - this.progressAt, MAX_AGAIN_SECONDS);
  }

  /** True if {@linkcode pause} parks the run. */
  get isPaused(): boolean {
    return this.#leftSeconds > 0;
  }

  /** True once the run has ended in this process. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * The time at which this process resumes the run, in epoch seconds. Undefined
   * if the run does more than wait, or will be parked.
   */
  get until(): number | undefined {
    if (this.#active > 0 || this.#isLong) return undefined;
    const until = this.#nextUntil;
    return until > this.options.now() ? until : undefined;
  }

  /** True if no wait ends soon. */
  get #isLong(): boolean {
    return this.#nextUntil > this.options.now() + SHORT_SECONDS;
  }

  /** The earliest end of a wait; infinite if only answers end the waits. */
  get #nextUntil(): number {
    const untils = [...this.#waiting].map(({ until = Infinity }) => until);
    return Math.min(...untils);
  }

  /** Reads a clock that has jumped. */
  recheck(): void {
    this.#rechecked.abort();
    this.#rechecked = new AbortController();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#quiet);
  }

  /** Parks the run as soon as no step or write is in progress. */
  release(): void {
    this.#isReleased = true;
    if (this.#waiting.size > 0) this.#leaveWhenQuiet();
  }

  /**
   * Parks the run of a paused caller as soon as no step or write is in
   * progress, for {@linkcode PAUSED_SECONDS}.
   */
  pause(): void {
    this.#leftSeconds = PAUSED_SECONDS;
    this.#isReleased = true;
    this.#leaveWhenQuiet();
  }

  /**
   * Parks the run as soon as no step is in progress. The promise never settles.
   */
  async never(): Promise<never> {
    this.#leaveWhenQuiet();
    return await new Promise(() => {});
  }

  /** Waits until a time, in epoch seconds, or until `enough` fires. */
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

  /** Awaits a function that only waits. The run may be parked meanwhile. */
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

  /** Awaits a function during which the run is not parked. */
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
   * Parks a run that only waits: at once after {@linkcode release}, otherwise
   * after {@linkcode QUIET_MILLISECONDS}.
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
      ? [{ until: Math.floor(now()) + this.#leftSeconds }]
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
        // A question already has its answer, or is not stored yet: the run
        // continues, and tries to park again later.
        this.#leaveWhenQuiet();
      },
      // The database does not respond: the run continues, and tries to park
      // again later.
      async () => {
        await pause(QUIET_MILLISECONDS, signal);
        this.#leaveWhenQuiet();
      },
    );
  }
}
