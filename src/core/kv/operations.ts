/**
 * Operations on a database that may be slow, busy or unreachable. Each has a
 * deadline, the number of concurrent ones is limited, and none is sent while
 * the database does not respond. Some are repeated: those that must survive a
 * short outage of the database, and those that found it locked.
 *
 * The fence of a process: a commit that timed out may still be applied a minute
 * later. So every commit checks that one record of its process, the fence, is
 * absent. Once the fence is written, pending commits fail, and their records
 * show for certain if they were applied before. The process continues with a
 * new fence.
 *
 * @module
 */
import { type Clock, now, pause } from "../clock.ts";
import { StorageError } from "../errors.ts";
import { outsideTrace } from "../telemetry/current.ts";
import {
  KvClosedError,
  kvErrorOf,
  KvLockedError,
  KvUsageError,
} from "./kv_error.ts";
import { randomId } from "../crypto/crypto.ts";
import { fenceKey, givenUpKey } from "./keys.ts";
import type { Kv } from "./kv.ts";

const FIRST_PAUSE_MILLISECONDS = 100;
const MAX_PAUSE_MILLISECONDS = 2000;

/**
 * Repeats an operation while the database does not respond.
 *
 * @throws {StorageError} the error of the last try, once the signal has fired
 * or the time is over
 */
export async function untilReachable<T>(
  operation: () => Promise<T>,
  { signal, forMilliseconds = Infinity }: {
    signal?: AbortSignal;
    forMilliseconds?: number;
  },
): Promise<T> {
  const started = performance.now();
  for (let milliseconds = FIRST_PAUSE_MILLISECONDS;;) {
    try {
      return await operation();
    } catch (error) {
      const isOver = signal?.aborted ||
        performance.now() - started >= forMilliseconds;
      if (isOver || !(error instanceof StorageError)) throw error;
    }
    await pause(milliseconds, signal);
    milliseconds = Math.min(MAX_PAUSE_MILLISECONDS, milliseconds * 2);
  }
}

/**
 * Runs an operation that may fail without harm, because its records expire
 * anyway. Ignores a failure of the database.
 */
export async function bestEffort(
  operation: () => Promise<unknown>,
): Promise<void> {
  try {
    await operation();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
}

/**
 * Repeats an operation, with jitter, while the database is locked. That happens
 * under load if several processes share a SQLite file.
 */
export async function untilUnlocked<T>(
  operation: () => Promise<T>,
  milliseconds = 5000,
): Promise<T> {
  const until = performance.now() + milliseconds;
  for (let attempt = 1;; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (
        !(kvErrorOf(error) instanceof KvLockedError) ||
        performance.now() > until
      ) throw error;
      await pause(Math.random() * Math.min(50, 2 * attempt));
    }
  }
}

/** The maximum time of an operation, including its time in the queue. */
export const DEADLINE_MILLISECONDS = 5000;
/**
 * The maximum number of concurrent operations. There is one because Deno's
 * client for remote databases never drops an operation that hangs.
 */
const MAX_AT_ONCE = 128;
/**
 * The extra time after the deadline. A result may have arrived while the whole
 * process was suspended. The extra time lets it be read before the timer fails
 * the operation.
 */
const GRACE_MILLISECONDS = 100;
const PROBE_MILLISECONDS = 1000;
/** The time after which another check is sent although the last one hangs. */
const MAX_PROBE_MILLISECONDS = 30_000;
/** A response that takes longer than this shows that the database stalls. */
const SLOW_MILLISECONDS = 2500;

export const TRIES = 3;
/** The pause after a failed try, multiplied by the number of tries so far. */
export const PAUSE_MILLISECONDS = 20;

/** A database that did not respond in time. */
export class DeadlineError extends Error {
  override name = "DeadlineError";
  constructor(
    milliseconds: number,
    /** False if the operation never left the queue. */
    readonly isSent = true,
  ) {
    super(
      isSent
        ? `The database has not answered for ${milliseconds} ms`
        : `${MAX_AT_ONCE} other operations were under way for ` +
          `${milliseconds} ms`,
    );
  }
}

interface State {
  /** True once no caller waits for the operation any more. */
  isOver: boolean;
  /** The time at which the operation was sent; -1 while it is queued. */
  sent: number;
  /**
   * True if the operation no longer counts as one of {@linkcode MAX_AT_ONCE},
   * because it may hang for ever.
   */
  isForgotten: boolean;
}

/** All operations of a process on one database. */
export class Operations {
  #underWay = 0;
  #queue: (() => void)[] = [];
  #awaited = 0;
  /**
   * The reason why no operation is sent; undefined while the database responds.
   */
  #failure?: DeadlineError;
  #probedMilliseconds = -Infinity;
  #isProbing = false;
  /** Operations that were sent and timed out, but have not ended. */
  readonly #hanging = new Set<State>();
  #troubledMilliseconds = -Infinity;
  /**
   * The time at which an operation was sent: of all that got a response, the one
   * that was sent last.
   */
  #answered = 0;

  /**
   * @param probe any cheap read, which shows if the database responds again
   * @param onBack called when the database responds again
   */
  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly deadlineMilliseconds: number = DEADLINE_MILLISECONDS,
    public onBack: () => void = () => {},
  ) {}

  /** The time since the last failure or slow response. */
  get answersForMilliseconds(): number {
    return performance.now() - this.#troubledMilliseconds;
  }

  /**
   * Runs one operation.
   *
   * @throws {StorageError} if the database fails, or does not respond in time
   */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#failure) {
      this.#probeAgain();
      throw new StorageError({ cause: this.#failure });
    }
    this.#awaited++;
    const { promise: over, reject } = Promise.withResolvers<never>();
    const state = { isOver: false, sent: -1, isForgotten: false };
    let timer = setTimeout(() => {
      timer = setTimeout(() => {
        state.isOver = true;
        const { sent } = state;
        const isSent = sent >= 0;
        const error = new DeadlineError(this.deadlineMilliseconds, isSent);
        if (isSent) {
          this.#hanging.add(state);
          // If a later operation got a response, the database is reachable.
          if (sent >= this.#answered) this.#failure = error;
          this.#probeAgain();
        }
        reject(error);
      }, GRACE_MILLISECONDS);
    }, this.deadlineMilliseconds);
    try {
      return await Promise.race([this.#take(operation, state), over]);
    } catch (error) {
      const cause = kvErrorOf(error);
      if (cause instanceof KvUsageError) throw error;
      this.#troubledMilliseconds = performance.now();
      throw new StorageError({ cause });
    } finally {
      clearTimeout(timer);
      this.#awaited--;
    }
  }

  /** Runs an operation that may be repeated. @throws {StorageError} */
  repeat<T>(operation: () => Promise<T>): Promise<T> {
    return this.whole(async () => {
      for (let tries = 1;; tries++) {
        try {
          return await this.run(operation);
        } catch (error) {
          if (!isTransient(error) || tries === TRIES) throw error;
          await pause(tries * PAUSE_MILLISECONDS);
        }
      }
    });
  }

  /**
   * Runs work that consists of several operations. {@linkcode idle} waits until
   * all of the work has ended, including pauses between its operations.
   */
  async whole<T>(work: () => Promise<T>): Promise<T> {
    this.#awaited++;
    try {
      return await work();
    } finally {
      this.#awaited--;
    }
  }

  /**
   * Resolves when no caller waits for an operation or its next attempt, and
   * none is about to begin another operation.
   */
  async idle(): Promise<void> {
    do await pause(1); while (this.#awaited > 0);
  }

  /**
   * Sends an operation once there is a slot. The operation goes on after its
   * deadline: a late response, too, shows that the database is back.
   */
  async #take<T>(operation: () => Promise<T>, state: State): Promise<T> {
    if (this.#underWay >= MAX_AT_ONCE) {
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    } else this.#underWay++;
    try {
      // No caller waits for the operation any more, so it is not sent.
      if (state.isOver) {
        throw new DeadlineError(this.deadlineMilliseconds, false);
      }
      const sent = state.sent = performance.now();
      const result = await untilUnlocked(operation, this.deadlineMilliseconds);
      const ended = performance.now();
      if (ended - sent > SLOW_MILLISECONDS) this.#troubledMilliseconds = ended;
      this.#answered = Math.max(this.#answered, sent);
      this.#failure = undefined;
      return result;
    } finally {
      this.#hanging.delete(state);
      if (!state.isForgotten) this.#free();
    }
  }

  /** Starts the next queued operation, or leaves its slot free. */
  #free(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#underWay--;
  }

  /**
   * Frees the slots of operations that hang although the database responds
   * again.
   */
  #forget(hanging: readonly State[]): void {
    for (const state of hanging) {
      if (!this.#hanging.delete(state)) continue;
      state.isForgotten = true;
      this.#free();
    }
  }

  /** Checks if the database responds again, unless it was just checked. */
  async #probeAgain(): Promise<void> {
    const time = performance.now();
    const pause = this.#isProbing ? MAX_PROBE_MILLISECONDS : PROBE_MILLISECONDS;
    if (time - this.#probedMilliseconds < pause) return;
    this.#isProbing = true;
    this.#probedMilliseconds = time;
    const hanging = [...this.#hanging];
    try {
      await outsideTrace(this.probe);
      this.#failure = undefined;
      this.#troubledMilliseconds = performance.now();
      this.#forget(hanging);
      this.onBack();
    } catch {
      // A later operation checks again.
    } finally {
      if (this.#probedMilliseconds === time) this.#isProbing = false;
    }
  }
}

/**
 * True if another attempt may work. False if the database was closed, or if the
 * operation waited too long in the queue or for a lock.
 */
export function isTransient(error: unknown): error is StorageError {
  if (!(error instanceof StorageError)) return false;
  const { cause } = error;
  if (cause instanceof DeadlineError) return cause.isSent;
  return !(cause instanceof KvLockedError || cause instanceof KvClosedError);
}

/** The lifetime of a written fence, which is longer than a commit may take. */
const CLOSED_SECONDS = 24 * 60 * 60;
const MAX_MARKS_PER_COMMIT = 500;

/** The pause between two tries to write marks. */
const MARKS_PAUSE_MILLISECONDS = 1000;

/** The minimum difference between two clocks that is reported. */
const CLOCK_SECONDS = 10;
const REPORT_CLOCK_SECONDS = 10 * 60;

/**
 * One attempt at a commit: the fence that must be absent, and the unique id
 * (mark) in the records that it writes.
 */
export interface CommitTry {
  fence: string;
  mark: string;
}

/** The time in a mark, in seconds, by the clock of the process that made it. */
export function secondOf(mark: string): number {
  return parseInt(mark.split(".")[1], 36);
}

export class Fence {
  /**
   * The prefix of the fences and marks of this process. A number follows in a
   * fence, a time in a mark.
   */
  readonly #process = `${randomId(12)}.`;
  #fences = 0;
  #attempts = 0;
  #current = this.#process;
  /** The fences of commits that timed out, until these fences are written. */
  readonly #open = new Set<string>();
  /**
   * Marks of commits that may have been applied, although their request was
   * answered with 503.
   */
  #owed: string[] = [];
  #settling?: Promise<void>;
  #reportClockMilliseconds = -Infinity;
  /** Called when there are marks to write, and nothing writes them yet. */
  onOwed = () => {};
  /** Ends the pause of {@linkcode settleEventually}. */
  #settled?: AbortController;

  /**
   * @param onClockAhead called at most every ten minutes, with the seconds by
   * which another clock is ahead
   */
  constructor(
    private readonly kv: Kv,
    private readonly operations: Pick<Operations, "repeat">,
    private readonly clock: Clock,
    private readonly onClockAhead: (seconds: number) => void = () => {},
  ) {}

  /**
   * True if commits have timed out, or marks are owed, since the last
   * {@linkcode settle}.
   */
  get isDue(): boolean {
    return this.#open.size > 0 || this.#owed.length > 0;
  }

  begin(): CommitTry {
    const second = now(this.clock).toString(36);
    const number = (++this.#attempts).toString(36);
    const mark = `${this.#process}${second}.${number}`;
    return { fence: this.#current, mark };
  }

  /** Records that an attempt timed out and may still be applied. */
  giveUp({ fence }: CommitTry): void {
    if (fence !== this.#current) return;
    this.#open.add(fence);
    this.#current = `${this.#process}${++this.#fences}`;
  }

  /**
   * Records that a request is answered with 503 although its commit may have
   * been applied.
   */
  owe({ mark }: Pick<CommitTry, "mark">): void {
    this.#owed.push(mark);
    if (!this.#settled) this.onOwed();
  }

  /**
   * True if an attempt's fence is no longer the current one. The attempt cannot
   * be applied any more once its fence is written.
   */
  isOutdated({ fence }: CommitTry): boolean {
    return fence !== this.#current;
  }

  isOwn(mark: string): boolean {
    return mark.startsWith(this.#process);
  }

  /**
   * Reports the clock of another process if it is ahead of this one's, by the
   * time in that process's mark.
   */
  compareClocks(mark: string): void {
    if (this.isOwn(mark)) return;
    const seconds = secondOf(mark) - now(this.clock);
    const time = performance.now();
    if (seconds < CLOCK_SECONDS || time < this.#reportClockMilliseconds) return;
    this.#reportClockMilliseconds = time + REPORT_CLOCK_SECONDS * 1000;
    this.onClockAhead(seconds);
  }

  /**
   * Writes the fences of commits that timed out, and the marks of commits whose
   * request was answered with 503. Concurrent calls share one attempt.
   *
   * @throws {import("../errors.ts").StorageError} if the database does not
   * respond
   */
  async settle(): Promise<void> {
    while (this.isDue) {
      this.#settling ??= this.#settle().finally(() =>
        this.#settling = undefined
      );
      await this.#settling;
    }
  }

  /**
   * Repeats {@linkcode settle}, because other processes wait for the marks.
   * Ends when it succeeds, or after a last try when the database is about to be
   * closed.
   */
  async settleEventually(closing: AbortSignal): Promise<void> {
    const settled = this.#settled = new AbortController();
    const isOver = AbortSignal.any([closing, settled.signal]);
    while (this.isDue) {
      const isLast = closing.aborted;
      await this.settle().catch(() => pause(MARKS_PAUSE_MILLISECONDS, isOver));
      if (isLast) break;
    }
    this.#settled = undefined;
  }

  async #settle(): Promise<void> {
    const open = [...this.#open];
    const owed = this.#owed.slice(0, MAX_MARKS_PER_COMMIT);
    const closed = { expiresAt: now(this.clock) + CLOSED_SECONDS };
    // Without checks, so that this commit can be repeated.
    await this.operations.repeat(() => {
      const operation = this.kv.atomic();
      const expireIn = closed.expiresAt * 1000 - this.clock();
      for (const key of [...open.map(fenceKey), ...owed.map(givenUpKey)]) {
        operation.set(key, closed, { expireIn });
      }
      return operation.commit();
    });
    for (const fence of open) this.#open.delete(fence);
    this.#owed.splice(0, owed.length);
    if (!this.isDue) this.#settled?.abort();
  }
}
