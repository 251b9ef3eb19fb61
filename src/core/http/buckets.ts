/**
 * Token buckets by name: those of one process, and those that all processes
 * share.
 *
 * @module
 */
import {
  Filling,
  type Rate,
  type RateStore,
  rateStore,
} from "../store/rate.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { type Logger, logRepeated } from "../log/log.ts";
import type { Database } from "../kv/database.ts";
import { detached } from "../telemetry/current.ts";

export type { Rate } from "../store/rate.ts";

/** The most buckets that are remembered; a full bucket need not be. */
const MAX_BUCKETS = 10_000;

/** Gives `performance.now()` in whole milliseconds: sums are not rounded. */
function wholeMilliseconds(): number {
  return Math.floor(performance.now());
}

/** Buckets of one size. */
export class Buckets {
  /** The time at which each bucket is full again, by `performance.now()`. */
  readonly #buckets = new Map<string, number>();
  readonly #filling: Filling;

  /** @param forgotten is told the names of buckets that are dropped */
  constructor(
    rate: Rate,
    private readonly forgotten: (name: string) => unknown = () => {},
  ) {
    this.#filling = new Filling(rate);
  }

  /** Takes a token. Returns 0, or the milliseconds to wait if there is none. */
  take(name: string, time = wholeMilliseconds()): number {
    const before = this.#buckets.get(name);
    if (before === undefined && this.#buckets.size >= MAX_BUCKETS) {
      this.#forget(time);
    }
    const { fullAt, waitMilliseconds } = this.#filling.take(
      before ?? time,
      time,
    );
    this.#buckets.set(name, fullAt);
    return waitMilliseconds;
  }

  giveBack(name: string): void {
    const fullAt = this.#buckets.get(name);
    if (fullAt === undefined) return;
    this.#buckets.set(name, fullAt - this.#filling.costMilliseconds);
  }

  /** Returns the number of tokens that a bucket lacks, with fractions. */
  missing(name: string, time: number): number {
    const fullAt = this.#buckets.get(name) ?? time;
    return Math.max(0, fullAt - time) / this.#filling.costMilliseconds;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Drops full buckets, and a tenth at least: those that are full again first,
   * so that no flood of names frees one that has to wait.
   */
  #forget(time: number): void {
    const fullestFirst = [...this.#buckets].sort((a, b) => a[1] - b[1]);
    for (const [nth, [name, fullAt]] of fullestFirst.entries()) {
      if (nth >= MAX_BUCKETS / 10 && fullAt > time) break;
      this.#buckets.delete(name);
      this.forgotten(name);
    }
  }
}

/** The part of a bucket that a process gives before it asks the database. */
const UNSHARED = 0.1;
/**
 * The part of a full bucket that a process takes from the database at a time.
 * Tokens that it does not give are lost.
 */
const PART = 0.05;
/** The time for which a process limits alone after the database has failed. */
const ALONE_MILLISECONDS = 1000;

interface Share {
  /** Tokens that were taken from the database and not yet given. */
  left: number;
  /**
   * Tokens that may still be given without the database, until the bucket is
   * full again.
   */
  free: number;
  /**
   * Tokens that were given without the database, which takes them off when it
   * is asked next. Negative if tokens from the database were given back.
   */
  unshared: number;
  /** The time until which there is no token, by `performance.now()`. */
  emptyUntil: number;
  asking?: Promise<void>;
}

/** Buckets of one size and purpose, which all processes share. */
export class SharedBuckets {
  /** The buckets of this process alone: it gives no more than they hold. */
  readonly #own: Buckets;
  /** A share of each of these buckets, once one was needed. */
  readonly #shares = new Map<string, Share>();
  readonly #store: RateStore;
  readonly #free: number;
  readonly #part: number;
  #aloneUntil = -Infinity;

  constructor(
    private readonly parts: { database: Database; log: Logger },
    /** The name of these buckets in the database. */
    private readonly purpose: string,
    rate: Rate,
  ) {
    this.#own = new Buckets(rate, (name) => this.#shares.delete(name));
    this.#store = rateStore(parts.database, purpose, rate);
    this.#free = Math.floor(rate.burst * UNSHARED);
    this.#part = Math.max(1, Math.floor(rate.burst * PART));
  }

  /** Takes a token. Gives 0, or the milliseconds to wait. Never rejects. */
  take(name: string, time = wholeMilliseconds()): MaybePromise<number> {
    // Tokens that were taken before the bucket was full again are dropped.
    if (this.#own.missing(name, time) === 0) this.#shares.delete(name);
    const wait = this.#own.take(name, time);
    if (wait > 0) return wait;
    const share = this.#shareOf(name);
    if (share.free > 0) {
      share.free--;
      share.unshared++;
      return 0;
    }
    return this.#takeOf(share, name, time) ?? this.#ask(share, name, time);
  }

  giveBack(name: string): void {
    this.#own.giveBack(name);
    const share = this.#shares.get(name);
    if (share === undefined) return;
    share.unshared--;
    share.free++;
  }

  /** The number of names of which more is known than that nothing was taken. */
  get size(): number {
    return this.#shares.size;
  }

  /**
   * Takes a token without the database. Returns 0, the milliseconds to wait, or
   * undefined if the database must be asked.
   */
  #takeOf(share: Share, name: string, time: number): number | undefined {
    if (share.left > 0) {
      share.left--;
      return 0;
    }
    const wait = share.emptyUntil - time;
    if (wait > 0) {
      this.#own.giveBack(name);
      return wait;
    }
    if (time >= this.#aloneUntil) return undefined;
    share.unshared++;
    return 0;
  }

  async #ask(share: Share, name: string, time: number): Promise<number> {
    for (;;) {
      // Other requests wait for it too, so it is in the trace of none.
      await (share.asking ??= detached(() => this.#fill(share, name, time))
        .finally(() => share.asking = undefined));
      const wait = this.#takeOf(share, name, time);
      if (wait !== undefined) return wait;
    }
  }

  async #fill(share: Share, name: string, time: number): Promise<void> {
    const { unshared } = share;
    const begun = wholeMilliseconds();
    // Tokens that have come back meanwhile are not taken off. That of this request
    // is missing here too, but was not given yet.
    const missing = this.#own.missing(name, time) - 1;
    const spent = Math.min(unshared, Math.max(0, missing));
    try {
      const part = await this.#store.take(name, this.#part, spent);
      share.unshared -= unshared;
      share.left += part.given;
      if (part.given === 0) share.emptyUntil = time + part.waitMilliseconds;
    } catch (error) {
      const failed = time + wholeMilliseconds() - begun;
      this.#aloneUntil = failed + ALONE_MILLISECONDS;
      const endpoint = this.purpose;
      logRepeated(
        this.parts.log,
        "Limits could not be shared with other processes",
        { endpoint, error },
      );
    }
  }

  #shareOf(name: string): Share {
    let share = this.#shares.get(name);
    if (share === undefined) {
      share = { left: 0, free: this.#free, unshared: 0, emptyUntil: 0 };
      this.#shares.set(name, share);
    }
    return share;
  }
}
