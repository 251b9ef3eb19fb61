/**
 * Leases that are stored in the record that they protect, and never renewed.
 * Such a lease lapses once another process has seen it unchanged for its whole
 * duration.
 *
 * @module
 */
import type { Database, Entry, Expiring, Found } from "./database.ts";
import type { Marked } from "./reader.ts";
import { WatchedLeases } from "./leases.ts";

/** A lease that ended this long ago has lapsed, even if no one watched it. */
const FORGOTTEN_SECONDS = 10 * 60;

export interface Leasable extends Expiring {
  /** The time at which the lease ends, by its holder's clock. */
  leaseUntil?: number;
  /** The mark of the commit that took the lease, if the record was written since. */
  leaseMark?: string;
}

/**
 * Returns a record for a write that keeps its lease: the mark of that write must
 * not count as that of the lease.
 */
export function keepLease<R extends Leasable>({ value, mark }: Found<R>): R {
  const { leaseUntil, leaseMark = mark } = value;
  return leaseUntil === undefined ? value : { ...value, leaseMark };
}

/** Makes the functions for leases in records, all of the same length. */
export function recordLeases(database: Database, seconds: number) {
  const watched = new WatchedLeases(database, seconds * 1000);

  /** True if a record has no lease, or one that ended long ago. */
  function isOver({ leaseUntil }: Leasable): boolean {
    return leaseUntil === undefined ||
      leaseUntil + FORGOTTEN_SECONDS <= database.now();
  }

  return {
    /**
     * Takes the lease of a record. Returns undefined if another process may
     * hold it.
     *
     * @param isVoid returns true if the request that took the present lease
     * was answered with 503, so that no process works under that lease
     */
    async lease<F extends Found<Leasable>>(
      found: F,
      isVoid = (lease: Marked) => database.isGivenUp(lease),
    ): Promise<F | undefined> {
      const { leaseMark = found.mark, ...value } = found.value;
      // Other writes of the record do not renew its lease.
      const renewal = `${value.leaseUntil} ${leaseMark}`;
      const isTaken = !isOver(value) &&
        !watched.hasLapsed(JSON.stringify(found.key), renewal) &&
        !await isVoid({ mark: leaseMark });
      if (isTaken) return undefined;
      const leaseUntil = database.now() + seconds;
      return await database.replace(found, { ...value, leaseUntil });
    },

    /** Ends the lease, even if the record has changed since. */
    async release(leased: Found<Leasable>): Promise<void> {
      const { key, value: { leaseUntil } } = leased;
      await database.change(key, (transaction, { value }: Entry<Leasable>) => {
        if (value && value.leaseUntil === leaseUntil) {
          transaction.set(key, { ...value, leaseUntil: undefined });
        }
      });
    },

    /**
     * Waits until the lease has ended, or may be taken because its process
     * died.
     */
    async waitForLease(
      { key, value: { leaseUntil } }: Found<Leasable>,
      signal: AbortSignal,
    ): Promise<void> {
      const endMilliseconds = performance.now() + seconds * 1000;
      await database.waitFor<Leasable>(
        key,
        (record) =>
          !record || isOver(record) || record.leaseUntil !== leaseUntil ||
          performance.now() >= endMilliseconds,
        signal,
      );
    },
  };
}
