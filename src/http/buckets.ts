/**
 * Token buckets by name. A bucket is one number: the moment at which it will
 * be full again.
 *
 * @see https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
 * @module
 */

/** How many at once, and how many in the long run. */
export interface Rate {
  burst: number;
  perSecond: number;
}

interface Bucket {
  /** When the bucket is full again, in epoch milliseconds. */
  fullAt: number;
  /** What was taken here since it was last full. */
  taken: number;
}

/** As many buckets are remembered: a full one needs no memory. */
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

  /** Takes one; gives the milliseconds to wait where there is none, else 0. */
  take(name: string, time: number): number {
    const bucket = this.#bucket(name, time);
    const fullAt = bucket.fullAt + this.#costMilliseconds;
    const wait = fullAt - time - this.#spanMilliseconds;
    if (wait > 0) return wait;
    bucket.fullAt = fullAt;
    bucket.taken++;
    return 0;
  }

  /** Gives back what was taken. */
  giveBack(name: string): void {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return;
    bucket.fullAt -= this.#costMilliseconds;
    bucket.taken--;
  }

  /** Takes what others took elsewhere, as far as there is any. */
  drain(name: string, count: number, time: number): void {
    const bucket = this.#bucket(name, time);
    bucket.fullAt = Math.min(
      bucket.fullAt + count * this.#costMilliseconds,
      time + this.#spanMilliseconds,
    );
  }

  /** What was taken here from the buckets of which this part is gone. */
  busy(time: number, most: number, part: number): Record<string, number> {
    const found: Record<string, number> = {};
    let count = 0;
    for (const [name, { fullAt, taken }] of this.#buckets) {
      const missing = fullAt - time;
      if (missing < this.#spanMilliseconds * part) continue;
      found[name] = taken;
      if (++count === most) break;
    }
    return found;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  #bucket(name: string, time: number): Bucket {
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      if (this.#buckets.size >= MOST_BUCKETS) this.#forget(time);
      bucket = { fullAt: time, taken: 0 };
      this.#buckets.set(name, bucket);
    }
    if (bucket.fullAt <= time) {
      bucket.fullAt = time;
      bucket.taken = 0;
    }
    // Nothing takes longer to fill than an empty one: the clock was set back,
    // and everyone would be refused for it.
    if (bucket.fullAt > time + this.#spanMilliseconds) bucket.fullAt = time;
    return bucket;
  }

  /** Full buckets go, then the oldest. */
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
