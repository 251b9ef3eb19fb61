/**
 * Token buckets by name: those of this process, and those that several
 * processes take from.
 *
 * @module
 */
import {
  Filling,
  type Rate,
  type RateStore,
  rateStore,
} from "../store/rate.ts";
import type { MaybePromise } from "../authoring/service.ts";
import { type Logger, logRepeated } from "../log/log.ts";
import type { Database } from "../store/database.ts";
import { detached } from "../telemetry/current.ts";

export type { Rate } from "../store/rate.ts";

/** The most buckets that are remembered; a full bucket need not be. */
const MAX_BUCKETS = 10_000;

/** Gives `performance.now()` as a number that adds up without rounding. */
function wholeMilliseconds(): number {
  return Math.floor(performance.now());
}

/** Buckets of one size. */
export class Buckets {
  /** The time at which each is full again, by `performance.now()`. */
  readonly #buckets = new Map<string, number>();
  readonly #filling: Filling;

  constructor(rate: Rate) {
    this.#filling = new Filling(rate);
  }

  /** Takes a token; gives the milliseconds to wait if there is none, else 0. */
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

  isFull(name: string, time: number): boolean {
    return (this.#buckets.get(name) ?? time) <= time;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Drops full buckets, then the oldest. */
  #forget(time: number): void {
    for (const [name, fullAt] of this.#buckets) {
      if (fullAt <= time) this.#buckets.delete(name);
    }
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size < MAX_BUCKETS * 0.9) break;
      this.#buckets.delete(name);
    }
  }
}

/** The part of a fill that a process gives before it asks the database. */
const UNSHARED = 0.1;
/** The part that a process takes at a time; what it does not give is lost. */
const PART = 0.05;
/** The time for which a process limits alone after a failure. */
const ALONE_MILLISECONDS = 1000;
const MAX_SHARES = 10_000;

interface Share {
  /** Tokens that were taken from the database, and not given yet. */
  left: number;
  /** Tokens that may still be given in this fill without the database. */
  free: number;
  /**
   * Tokens that were given without the database, which hears of them next;
   * negative where it gave some that came back.
   */
  unshared: number;
  /** The time until which there is no token, by `performance.now()`. */
  emptyUntil: number;
  asking?: Promise<void>;
}

/** Buckets of one size, for one purpose. */
export class SharedBuckets {
  /** The buckets of this process alone, which gives no more than one has. */
  readonly #own: Buckets;
  readonly #shares = new Map<string, Share>();
  readonly #store: RateStore;
  readonly #free: number;
  readonly #part: number;
  #aloneUntil = -Infinity;

  constructor(
    private readonly parts: { database: Database; log: Logger },
    /** Names them in the database. */
    private readonly purpose: string,
    rate: Rate,
  ) {
    this.#own = new Buckets(rate);
    this.#store = rateStore(parts.database, purpose, rate);
    this.#free = Math.floor(rate.burst * UNSHARED);
    this.#part = Math.max(1, Math.floor(rate.burst * PART));
  }

  /** Takes one; gives the milliseconds to wait, else 0. Never rejects. */
  take(name: string, time = wholeMilliseconds()): MaybePromise<number> {
    // A share taken for the last fill is of no use for this one.
    if (this.#own.isFull(name, time)) this.#shares.delete(name);
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

  /** Takes one of what is here; undefined: the database must be asked. */
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
    return time < this.#aloneUntil ? 0 : undefined;
  }

  async #ask(share: Share, name: string, time: number): Promise<number> {
    for (;;) {
      // Shared with other requests, so in the trace of none.
      await (share.asking ??= detached(() => this.#fill(share, name, time))
        .finally(() => share.asking = undefined));
      const wait = this.#takeOf(share, name, time);
      if (wait !== undefined) return wait;
    }
  }

  async #fill(share: Share, name: string, time: number): Promise<void> {
    const { unshared } = share;
    try {
      const part = await this.#store.take(name, this.#part, unshared);
      share.unshared -= unshared;
      share.left += part.given;
      if (part.given === 0) share.emptyUntil = time + part.waitMilliseconds;
    } catch (error) {
      this.#aloneUntil = time + ALONE_MILLISECONDS;
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
      for (const oldest of this.#shares.keys()) {
        if (this.#shares.size < MAX_SHARES) break;
        this.#shares.delete(oldest);
      }
      share = { left: 0, free: this.#free, unshared: 0, emptyUntil: 0 };
      this.#shares.set(name, share);
    }
    return share;
  }
}
