/**
 * The fence of a process. A commit that timed out may still be applied a minute
 * later. So every commit checks that one record of its process, the fence, is
 * absent. Once the fence is written, pending commits fail, and their records
 * show for certain if they were applied before. The process continues with a
 * new fence.
 *
 * @module
 */
import { type Clock, now, pause } from "../clock.ts";
import { randomId } from "../crypto/crypto.ts";
import { fenceKey, givenUpKey } from "./keys.ts";
import type { Kv } from "./kv.ts";
import type { Operations } from "./operations.ts";

/** The lifetime of a written fence, which is longer than a commit may take. */
const CLOSED_SECONDS = 24 * 60 * 60;
const MAX_MARKS_PER_COMMIT = 500;

/** The pause between two tries to write marks. */
const PAUSE_MILLISECONDS = 1000;

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

export class Fence {
  /** The prefix of all marks of this process, followed by a time. */
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
  /** Ends the pause of {@linkcode settleForGood}. */
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

  /** True if a commit timed out since the last {@linkcode settle}. */
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

  /** True if an attempt can no longer be applied. */
  isClosedTo({ fence }: CommitTry): boolean {
    return fence !== this.#current;
  }

  isOwn(mark: string): boolean {
    return mark.startsWith(this.#process);
  }

  /**
   * Reports another process's clock that is ahead, as the time in its mark
   * shows.
   */
  compareClocks(mark: string): void {
    const [, second] = mark.split(".");
    if (this.isOwn(mark)) return;
    const seconds = parseInt(second, 36) - now(this.clock);
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
   * Repeats {@linkcode settle} until it succeeds, or the database is about to
   * be closed, because other processes wait for the marks.
   */
  async settleForGood(closing: AbortSignal): Promise<void> {
    const settled = this.#settled = new AbortController();
    const isOver = AbortSignal.any([closing, settled.signal]);
    while (this.isDue) {
      const isLast = closing.aborted;
      await this.settle().catch(() => pause(PAUSE_MILLISECONDS, isOver));
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
