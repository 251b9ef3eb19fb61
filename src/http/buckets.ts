/**
 * Token buckets by name. A bucket is one number: the time at which it will be
 * full again.
 *
 * @see https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
 * @module
 */

/** The size of a bucket, and the rate at which it fills. */
export interface Rate {
  burst: number;
  perSecond: number;
}

interface Bucket {
  /** The time at which the bucket is full again, in epoch milliseconds. */
  fullAt: number;
}

/** The most buckets that are remembered; a full bucket need not be. */
const MOST_BUCKETS = 10_000;

/** Buckets of one size. */
export class Buckets {
  readonly #buckets = new Map<string, Bucket>();
  readonly #costMilliseconds: number;
  readonly #spanMilliseconds: number;

  constructor({ burst, perSecond }: Rate) {
    this.#costMilliseconds = 1000 / perSecond;
    this.#spanMilliseconds = burst * this.#costMilliseconds;
  }

  /** Takes a token; gives the milliseconds to wait if there is none, else 0. */
  take(name: string, time: number): number {
    const bucket = this.#bucket(name, time);
    const fullAt = bucket.fullAt + this.#costMilliseconds;
    const wait = fullAt - time - this.#spanMilliseconds;
    if (wait > 0) return wait;
    bucket.fullAt = fullAt;
    return 0;
  }

  /** Gives a token back. */
  giveBack(name: string): void {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return;
    bucket.fullAt -= this.#costMilliseconds;
  }

  /** Tells if nothing is missing in a bucket. */
  isFull(name: string, time: number): boolean {
    const { fullAt = time } = this.#buckets.get(name) ?? {};
    return fullAt <= time;
  }

  /** The number of buckets that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  #bucket(name: string, time: number): Bucket {
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      if (this.#buckets.size >= MOST_BUCKETS) this.#forget(time);
      bucket = { fullAt: time };
      this.#buckets.set(name, bucket);
    }
    if (bucket.fullAt <= time) bucket.fullAt = time;
    // Nothing takes longer to fill than an empty one: the clock was set back,
    // and everyone would be refused for it.
    if (bucket.fullAt > time + this.#spanMilliseconds) bucket.fullAt = time;
    return bucket;
  }

  /** Drops full buckets, then the oldest. */
  #forget(time: number): void {
    for (const [name, { fullAt }] of this.#buckets) {
      if (fullAt <= time) this.#buckets.delete(name);
    }
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size < MOST_BUCKETS * 0.9) break;
      this.#buckets.delete(name);
    }
  }
}
