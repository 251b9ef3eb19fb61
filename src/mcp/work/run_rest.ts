/**
 * The rest of a run of durable work: it waits for a time or an answer, and
 * leaves its process where that takes long.
 *
 * @module
 */
import { pause } from "../../clock.ts";

/** A wait that is not much longer is waited for in the process. */
const SHORT_SECONDS = 5;
/** The time without work after which a run that waits leaves its process. */
const QUIET_MILLISECONDS = 200;
/** The longest time of one timer. */
const TIMER_MILLISECONDS = 24 * 60 * 60 * 1000;

/** The run has left its process: its end is not the end of the task. */
export class Left extends Error {
  override name = "Left";
}

export interface RestSurroundings {
  signal: AbortSignal;
  /** Epoch seconds. */
  now(): number;
  /** Leaves the run to others, unless a question has its answer by now. */
  park(
    dueSeconds: number | undefined,
    questions: readonly string[],
    waitsFor: string | undefined,
  ): Promise<"parked" | "answered" | "lost">;
  /** Ends the author's code with a reason, in the middle. */
  cut(reason: unknown): Promise<never>;
}

/** A wait that needs no process. */
interface Waiting {
  /** Epoch seconds; undefined: until an answer is there. */
  until?: number;
  question?: string;
  /** The words for its client, unless it is a mere sleep. */
  waitsFor?: string;
}

export class RunRest {
  readonly #waiting = new Set<Waiting>();
  /** Functions of steps, and what is being stored. */
  #active = 0;
  /** True once the run is to leave its process. */
  isReleased = false;
  /** True once the run has ended here. */
  isOver = false;
  /** Ends the pauses of this process, for another look at the clock. */
  #rechecked = new AbortController();
  #quiet?: ReturnType<typeof setTimeout>;

  constructor(private readonly around: RestSurroundings) {}

  /**
   * The end of the wait that is all that happens here; undefined while anything
   * else does, and before a wait for which the run leaves its process.
   */
  get until(): number | undefined {
    if (this.#active > 0 || this.#isLong) return undefined;
    const until = this.#nextUntil;
    return until > this.around.now() ? until : undefined;
  }

  /** True if nothing that it waits for comes soon. */
  get #isLong(): boolean {
    return this.#nextUntil > this.around.now() + SHORT_SECONDS;
  }

  /** The first end of a wait; infinite if answers are all that it waits for. */
  get #nextUntil(): number {
    const untils = [...this.#waiting].map(({ until = Infinity }) => until);
    return Math.min(...untils);
  }

  /** Looks at the clock again, which has jumped. */
  recheck(): void {
    this.#rechecked.abort();
    this.#rechecked = new AbortController();
  }

  /** Notes that the run has ended. */
  end(): void {
    this.isOver = true;
    clearTimeout(this.#quiet);
  }

  /** Leaves the process as soon as nothing is at work. */
  release(): void {
    this.isReleased = true;
    if (this.#waiting.size > 0) this.#lookWhetherQuiet();
  }

  /** Waits for the process to be left. */
  async never(): Promise<never> {
    this.#lookWhetherQuiet();
    return await new Promise(() => {});
  }

  /** @param how `enough` ends the wait before its time */
  async waitUntil(
    until: number,
    { enough, waitsFor }: { enough?: AbortSignal; waitsFor?: string } = {},
  ): Promise<void> {
    const { signal, now } = this.around;
    await this.wait({ until, waitsFor }, async () => {
      for (let left = until - now(); left > 0; left = until - now()) {
        if (enough?.aborted) return;
        await pause(
          Math.min(left * 1000, TIMER_MILLISECONDS),
          AbortSignal.any([signal, enough ?? signal, this.#rechecked.signal]),
        );
        if (signal.aborted) return await new Promise(() => {});
      }
    });
  }

  /** Does what waits, and needs no process. */
  async wait(waiting: Waiting, work: () => Promise<unknown>): Promise<void> {
    this.#waiting.add(waiting);
    this.#lookWhetherQuiet();
    try {
      await work();
    } finally {
      this.#waiting.delete(waiting);
      this.#lookWhetherQuiet();
    }
  }

  /** Does what keeps the run in its process. */
  async activity<T>(work: () => Promise<T>): Promise<T> {
    this.#active++;
    clearTimeout(this.#quiet);
    try {
      return await work();
    } finally {
      this.#active--;
      this.#lookWhetherQuiet();
    }
  }

  /** Leaves the process if nothing happens here for a long time. */
  #lookWhetherQuiet(): void {
    clearTimeout(this.#quiet);
    if (this.isOver || this.#active > 0) return;
    if (this.isReleased) return this.#leave();
    if (this.#waiting.size === 0 || !this.#isLong) return;
    this.#quiet = setTimeout(() => this.#leave(), QUIET_MILLISECONDS);
  }

  #leave(): void {
    const { park, now, cut, signal } = this.around;
    const waiting: Waiting[] = this.isReleased
      ? [{ until: now() }]
      : [...this.#waiting];
    const questions = waiting.flatMap(({ question }) => question ?? []);
    const untils = waiting.flatMap(({ until }) => until ?? []);
    const dueSeconds = untils.length > 0 ? Math.min(...untils) : undefined;
    const waitsFor = waiting.flatMap(({ waitsFor }) => waitsFor ?? []).at(-1);
    park(dueSeconds, questions, waitsFor).then(
      (parked) => {
        if (parked !== "answered") return void cut(new Left());
        // Or its question was not there yet: the run leaves a while later.
        this.#lookWhetherQuiet();
      },
      // The database is away: the run goes on, and leaves later.
      async () => {
        await pause(QUIET_MILLISECONDS, signal);
        this.#lookWhetherQuiet();
      },
    );
  }
}
