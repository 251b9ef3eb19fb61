/**
 * The lease under which one process at a time refreshes tokens that are stored.
 *
 * @module
 */
import { REFRESH_LEASE_SECONDS } from "../oauth/lifetimes.ts";
import type { Database, Entry, Found } from "../kv/database.ts";
import { type Leasable, RecordLeases } from "../kv/record_leases.ts";

/** Opens the leases of the tokens in a database. */
export function refreshLease(database: Database) {
  const leases = new RecordLeases(database, REFRESH_LEASE_SECONDS);

  return {
    /**
     * Takes the lease to refresh the tokens. Returns undefined if another
     * process has it.
     */
    async lease<F extends Found<Leasable>>(found: F): Promise<F | undefined> {
      // A lease that was given up before its holder began is void.
      const isTaken = leases.isTaken(found) && !await database.isGivenUp(found);
      if (isTaken) return undefined;
      const leaseUntil = database.now() + REFRESH_LEASE_SECONDS;
      return await database.replace(found, { ...found.value, leaseUntil });
    },

    /** Frees the lease without new tokens, whatever else was changed since. */
    async release(leased: Found<Leasable>): Promise<void> {
      const { key, value: { leaseUntil } } = leased;
      await database.change(key, (transaction, { value }: Entry<Leasable>) => {
        if (value && value.leaseUntil === leaseUntil) {
          transaction.set(key, { ...value, leaseUntil: undefined });
        }
      });
    },

    /**
     * Waits until the holder of the lease is done, or until it may be taken
     * from a holder that has died.
     */
    async waitFor(
      { key, value: { leaseUntil } }: Found<Leasable>,
      signal: AbortSignal,
    ): Promise<void> {
      const endMilliseconds = performance.now() + REFRESH_LEASE_SECONDS * 1000;
      await database.waitFor<Leasable>(
        key,
        (record) =>
          !record || leases.isOver(record) ||
          record.leaseUntil !== leaseUntil ||
          performance.now() >= endMilliseconds,
        signal,
      );
    },
  };
}
