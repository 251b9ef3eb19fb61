/**
 * The lease that lets one process at a time refresh stored tokens.
 *
 * @module
 */
import { REFRESH_LEASE_SECONDS } from "../oauth/lifetimes.ts";
import type { Database, Entry, Found } from "../kv/database.ts";
import { type Leasable, RecordLeases } from "../kv/record_leases.ts";

/** Makes the functions for leases of stored tokens. */
export function refreshLease(database: Database) {
  const leases = new RecordLeases(database, REFRESH_LEASE_SECONDS);

  return {
    /**
     * Takes the lease of a record. Returns undefined if another process has it.
     */
    async lease<F extends Found<Leasable>>(found: F): Promise<F | undefined> {
      // A lease whose commit was given up is void, because its process never
      // began.
      const isTaken = leases.isTaken(found) && !await database.isGivenUp(found);
      if (isTaken) return undefined;
      const leaseUntil = database.now() + REFRESH_LEASE_SECONDS;
      return await database.replace(found, { ...found.value, leaseUntil });
    },

    /**
     * Ends the lease without new tokens, even if the record has changed since.
     */
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
