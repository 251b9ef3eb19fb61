/**
 * Token buckets for rate limits: in one process, or shared by all processes.
 *
 * @module
 */
import {
  BucketMath,
  type Rate,
  type RateStore,
  rateStore,
} from "../store/rate.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { type Logger, logRepeated } from "../log/log.ts";
import type { Database } from "../kv/database.ts";
import { outsideTrace } from "../telemetry/current.ts";

export type { Rate } from "../store/rate.ts";

/** The maximum number of buckets in memory. Full buckets are not stored. */
const MAX_BUCKETS = 10_000;

/**
 * Returns `performance.now()` in whole milliseconds, so that sums are exact.
 */
function wholeMilliseconds(): number {
  return Math.floor(performance.now());
}

/** Token buckets by name, all of one size. */
export class Buckets {
  /** The time at which each bucket is full again, by `performance.now()`. */
  readonly #buckets = new Map<string, number>();
  readonly #filling: BucketMath;

  /** @param forgotten called with the name of each bucket that is removed */
  constructor(
    rate: Rate,
    private readonly forgotten: (name: string) => unknown = () => {},
  ) {
    this.#filling = new BucketMath(rate);
  }

  /**
   * Takes a token. Returns 0, or the milliseconds to wait for the next token.
   */
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

  /** Returns how many tokens a bucket lacks, with fractions. */
  missing(name: string, time: number): number {
    const fullAt = this.#buckets.get(name) ?? time;
    return Math.max(0, fullAt - time) / this.#filling.costMilliseconds;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Removes all full buckets. If these are fewer than a tenth, also removes the
   * fullest ones. So a flood of new names does not reset a bucket that is
   * empty.
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

/**
 * The fraction of a bucket that a process may use before it asks the database.
 */
const FREE = 0.1;
/**
 * The fraction of a bucket that a process takes from the database at once.
 * Tokens that it then does not use are lost.
 */
const PART = 0.05;
/**
 * The time after a failure of the database in which only the local bucket
 * limits.
 */
const ALONE_MILLISECONDS = 1000;

/** This process's share of one bucket. */
interface Share {
  /**
   * Tokens that may be used before the database is asked for the first time.
   */
  free: number;
  /** Tokens from the database that are not used yet. */
  credit: number;
  /**
   * Tokens used without asking the database; the next request to it subtracts
   * them. Negative if tokens from the database were given back.
   */
  owed: number;
  /** The time until which the bucket is empty, by `performance.now()`. */
  emptyUntil: number;
  /** The request to the database that is in progress. */
  asking?: Promise<void>;
}

/**
 * Token buckets that all processes share through the database. A process uses
 * the first tenth of a bucket without asking, then takes a twentieth at a time.
 * It never gives more than its local bucket of the same size allows. For a
 * second after a failure of the database, only the local bucket limits.
 */
export class SharedBuckets {
  readonly #own: Buckets;
  /** This process's shares. Full buckets have none. */
  readonly #shares = new Map<string, Share>();
  readonly #store: RateStore;
  readonly #free: number;
  readonly #part: number;
  #aloneUntil = -Infinity;

  /** @param purpose the name of this limit in the database */
  constructor(
    private readonly parts: { database: Database; log: Logger },
    private readonly purpose: string,
    rate: Rate,
  ) {
    this.#own = new Buckets(rate, (name) => this.#shares.delete(name));
    this.#store = rateStore(parts.database, purpose, rate);
    this.#free = Math.floor(rate.burst * FREE);
    this.#part = Math.max(1, Math.floor(rate.burst * PART));
  }

  /** Takes a token. Returns 0, or the milliseconds to wait. Never rejects. */
  take(name: string, time = wholeMilliseconds()): MaybePromise<number> {
    // A bucket that is full again starts over, without its old credit.
    if (this.#own.missing(name, time) === 0) this.#shares.delete(name);
    const wait = this.#own.take(name, time);
    if (wait > 0) return wait;
    let share = this.#shares.get(name);
    if (!share) {
      share = { free: this.#free, credit: 0, owed: 0, emptyUntil: 0 };
      this.#shares.set(name, share);
    }
    return this.#takeHere(share, name, time) ??
      this.#takeThere(share, name, time);
  }

  giveBack(name: string): void {
    this.#own.giveBack(name);
    const share = this.#shares.get(name);
    if (!share) return;
    share.free++;
    share.owed--;
  }

  /** The number of buckets that are not full, as far as this process knows. */
  get size(): number {
    return this.#shares.size;
  }

  /**
   * Takes a token without the database. Returns 0, or the milliseconds to wait.
   * Undefined if the database must be asked.
   */
  #takeHere(share: Share, name: string, time: number): number | undefined {
    if (share.free > 0) share.free--;
    else if (share.credit > 0) {
      share.credit--;
      return 0;
    } else if (share.emptyUntil > time) {
      this.#own.giveBack(name);
      return share.emptyUntil - time;
    } else if (time >= this.#aloneUntil) return undefined;
    share.owed++;
    return 0;
  }

  /**
   * Asks the database until a token can be taken, or the request has to wait.
   */
  async #takeThere(share: Share, name: string, time: number): Promise<number> {
    for (;;) {
      // Outside the trace, because other requests wait for the same read.
      await (share.asking ??= outsideTrace(() => this.#ask(share, name, time))
        .finally(() => share.asking = undefined));
      const wait = this.#takeHere(share, name, time);
      if (wait !== undefined) return wait;
    }
  }

  /** Takes tokens from the database, which first subtracts the owed ones. */
  async #ask(share: Share, name: string, time: number): Promise<void> {
    const { owed } = share;
    const begun = wholeMilliseconds();
    // Owed tokens that have refilled since are not subtracted. One is, because
    // the local bucket already lacks the token of this request, which is not
    // owed yet.
    const missing = this.#own.missing(name, time) - 1;
    const spent = Math.min(owed, Math.max(0, missing));
    try {
      const part = await this.#store.take(name, this.#part, spent);
      share.owed -= owed;
      share.credit += part.given;
      if (part.given === 0) share.emptyUntil = time + part.waitMilliseconds;
    } catch (error) {
      const failed = time + wholeMilliseconds() - begun;
      this.#aloneUntil = failed + ALONE_MILLISECONDS;
      logRepeated(
        this.parts.log,
        "Limits could not be shared with other processes",
        { endpoint: this.purpose, error },
      );
    }
  }
}
