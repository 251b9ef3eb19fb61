/**
 * The token buckets of this process, by name.
 *
 * @module
 */
import { Filling, type Rate } from "../store/rate.ts";

export type { Rate } from "../store/rate.ts";

/** The most buckets that are remembered; a full bucket need not be. */
const MOST_BUCKETS = 10_000;

/** Buckets of one size. */
export class Buckets {
  /** The time at which each is full again, in epoch milliseconds. */
  readonly #buckets = new Map<string, number>();
  readonly #filling: Filling;

  constructor(rate: Rate) {
    this.#filling = new Filling(rate);
  }

  /** Takes a token; gives the milliseconds to wait if there is none, else 0. */
  take(name: string, time: number): number {
    let before = this.#buckets.get(name);
    if (before === undefined && this.#buckets.size >= MOST_BUCKETS) {
      this.#forget(time);
    }
    // The clock was set back, and everyone would be refused for it.
    const latest = time + this.#filling.spanMilliseconds;
    if (before === undefined || before > latest) before = time;
    const { fullAt, waitMilliseconds } = this.#filling.take(before, time);
    this.#buckets.set(name, fullAt);
    return waitMilliseconds;
  }

  giveBack(name: string): void {
    const fullAt = this.#buckets.get(name);
    if (fullAt === undefined) return;
    this.#buckets.set(name, fullAt - this.#filling.costMilliseconds);
  }

  /** Tells if nothing is missing in a bucket. */
  isFull(name: string, time: number): boolean {
    return (this.#buckets.get(name) ?? time) <= time;
  }

  /** The number of buckets that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Drops full buckets, then the oldest. */
  #forget(time: number): void {
    for (const [name, fullAt] of this.#buckets) {
      if (fullAt <= time) this.#buckets.delete(name);
    }
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size < MOST_BUCKETS * 0.9) break;
      this.#buckets.delete(name);
    }
  }
}
