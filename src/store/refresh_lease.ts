/**
 * The lease under which one process at a time refreshes tokens that are stored.
 *
 * @module
 */
import { REFRESH_LEASE_SECONDS } from "../oauth/lifetimes.ts";
import type { Database, Expiring, Found } from "./database.ts";
import { isLeased } from "./leases.ts";

/** A record of tokens that are refreshed. */
export interface Refreshable extends Expiring {
  /** The time at which the refresh lease expires, in epoch seconds. */
  leaseUntil?: number;
}

/** True while a process has the lease to refresh the tokens. */
function isRefreshing(record: Refreshable, now: number): boolean {
  return isLeased(record, { now, seconds: REFRESH_LEASE_SECONDS });
}

/** Opens the leases of the tokens in a database. */
export function refreshLease(database: Database) {
  return {
    /**
     * Takes the lease to refresh the tokens. Returns undefined if another
     * process has it.
     */
    async lease<F extends Found<Refreshable>>(
      found: F,
    ): Promise<F | undefined> {
      const time = database.now();
      const isTaken = isRefreshing(found.value, time);
      // A lease that was given up before its holder began is void.
      if (isTaken && !await database.isGivenUp(found)) return undefined;
      const leaseUntil = time + REFRESH_LEASE_SECONDS;
      return await database.replace(found, { ...found.value, leaseUntil });
    },

    /** Frees the lease without new tokens. */
    async release(leased: Found<Refreshable>): Promise<void> {
      await database.replace(leased, {
        ...leased.value,
        leaseUntil: undefined,
      });
    },

    /** Waits until the holder of the lease is done, or its lease is over. */
    async waitFor(key: Deno.KvKey, signal: AbortSignal): Promise<void> {
      await database.waitFor<Refreshable>(
        key,
        (record) => !record || !isRefreshing(record, database.now()),
        signal,
      );
    },
  };
}
