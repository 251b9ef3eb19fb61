/**
 * A database that counts. It is wrapped at its lowest level, so that no
 * operation escapes: reads, lists and commits of any origin.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { atomicWith, kvWith } from "./kv.ts";

/** The records that Deno KV lists in a round trip by default. */
const BATCH = 100;

/** The cost of an action. */
export interface Cost {
  /** Round trips that waited for one another. */
  trips: number;
  /** All round trips, including concurrent ones. */
  operations: number;
}

/** A result with its cost. */
export type Measured<T> = Cost & { value: T };

/** Counts the operations on a database, and delays each of them. */
export class CountingKv {
  readonly kv: Deno.Kv;
  readonly #measuring = new AsyncLocalStorage<Cost>();

  /** @param delayMilliseconds is added to every round trip */
  constructor(private readonly real: Deno.Kv, delayMilliseconds = 0) {
    const count = <T>(operation: () => Promise<T>) =>
      this.#count(operation, delayMilliseconds);
    const counted = (name: "get" | "getMany" | "set" | "delete") => {
      const run = real[name].bind(real) as (
        ...args: unknown[]
      ) => Promise<unknown>;
      return (...args: unknown[]) => count(() => run(...args));
    };
    this.kv = kvWith(real, {
      get: counted("get"),
      getMany: counted("getMany"),
      set: counted("set"),
      delete: counted("delete"),
      list: async function* (
        ...[selector, options]: Parameters<Deno.Kv["list"]>
      ) {
        const { batchSize = Math.min(options?.limit ?? BATCH, BATCH) } =
          options ?? {};
        let listed = 0;
        const entries = real.list(selector, { ...options, batchSize });
        for (;;) {
          const batch = await count(() => batchOf(entries, batchSize));
          yield* batch;
          listed += batch.length;
          const isWhole = listed === options?.limit;
          if (batch.length < batchSize || isWhole) return;
        }
      },
      atomic: atomicWith(real, count),
    });
  }

  /**
   * Measures the cost of an action until it is done; later work is not
   * included. A part that is measured by itself counts in the whole as well.
   */
  async measure<T>(action: () => Promise<T>): Promise<Measured<T>> {
    const whole = this.#measuring.getStore();
    const before = whole?.trips ?? 0;
    const cost: Cost = { trips: 0, operations: 0 };
    const value = await this.#measuring.run(cost, action);
    if (whole) {
      whole.trips = Math.max(whole.trips, before + cost.trips);
      whole.operations += cost.operations;
    }
    return { ...cost, value };
  }

  /** Runs an action whose cost is not counted. */
  uncounted<T>(action: () => Promise<T>): Promise<T> {
    return this.#measuring.run({ trips: 0, operations: 0 }, action);
  }

  async #count<T>(
    operation: () => Promise<T>,
    delayMilliseconds: number,
  ): Promise<T> {
    const cost = this.#measuring.getStore();
    const before = cost?.trips ?? 0;
    if (cost) cost.operations++;
    try {
      return await operation();
    } finally {
      // Never at once: concurrent operations must all have been sent by then.
      await new Promise((resolve) => setTimeout(resolve, delayMilliseconds));
      if (cost) cost.trips = Math.max(cost.trips, before + 1);
    }
  }
}

/** Reads the next batch of a list. */
async function batchOf(
  entries: Deno.KvListIterator<unknown>,
  size: number,
): Promise<Deno.KvEntry<unknown>[]> {
  const batch: Deno.KvEntry<unknown>[] = [];
  while (batch.length < size) {
    const { done, value } = await entries.next();
    if (done) break;
    batch.push(value);
  }
  return batch;
}
