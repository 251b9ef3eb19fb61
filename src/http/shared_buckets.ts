/**
 * Token buckets that several processes share. They are in memory, so that no
 * request waits for another. A bucket in use is reported to the other processes
 * once a second, in a record of this process alone, so that no two processes
 * write the same key. Before a process has heard from the others, it allows a
 * little too much.
 *
 * @module
 */
import type { Logger } from "../log.ts";
import type { Database } from "../store/database.ts";
import { type RateStore, rateStore } from "../store/rate.ts";
import { Buckets, type Rate } from "./buckets.ts";

const EXCHANGE_MILLISECONDS = 1000;
/** The most buckets of one exchange; they fit into a value of 64 KiB. */
const MOST_EXCHANGED = 1000;

/** Buckets of one size, for one purpose. */
export class SharedBuckets {
  readonly #buckets: Buckets;
  readonly #counts: RateStore;
  readonly #told: number;
  readonly #log: Logger;
  #exchangedMilliseconds = 0;

  constructor(
    { database, log }: { database: Database; log: Logger },
    /** Names them in the database. */
    private readonly purpose: string,
    { told, ...rate }: Rate & {
      /**
       * The part of a bucket that must be used before other processes are told.
       */
      told: number;
    },
  ) {
    this.#buckets = new Buckets(rate);
    this.#counts = rateStore(database, purpose);
    this.#told = told;
    this.#log = log;
  }

  /** Takes a token; gives the milliseconds to wait if there is none, else 0. */
  take(name: string, time: number): number {
    return this.#buckets.take(name, time);
  }

  /** Gives a token back. */
  giveBack(name: string): void {
    this.#buckets.giveBack(name);
  }

  /**
   * Exchanges counts with the other processes when it is time to. Never
   * rejects.
   */
  async exchange(time: number): Promise<void> {
    const passed = Math.abs(time - this.#exchangedMilliseconds);
    if (passed < EXCHANGE_MILLISECONDS) return;
    this.#exchangedMilliseconds = time;
    const busy = this.#buckets.busy(time, MOST_EXCHANGED, this.#told);
    if (Object.keys(busy).length === 0) return;
    try {
      for (const taken of await this.#counts.exchange(busy)) {
        for (const [name, count] of Object.entries(taken)) {
          this.#buckets.drain(name, count, time);
        }
      }
    } catch (error) {
      // Until the next exchange, each process limits alone.
      this.#log.warning("Rates could not be exchanged", {
        endpoint: this.purpose,
        error,
      });
    }
  }
}
