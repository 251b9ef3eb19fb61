/**
 * Leases: the right of one process to do something, until a time. An expired
 * lease proves nothing by itself: the database may have been away, so that the
 * holder could not renew it, and the clocks of two machines differ. It has lapsed
 * once another process has seen it unchanged for long enough while the database
 * answered: that of a task for two heartbeats.
 *
 * @module
 */
import { LatestMap } from "../latest_map.ts";
import type { Database, Entry, Expiring, Transaction } from "./database.ts";
import { taskLeaseKey } from "./keys.ts";

/** The time after which work whose lease is not renewed may have died. */
export const LEASE_SECONDS = 30;
/** The time between renewals of a lease, in seconds. */
export const HEARTBEAT_SECONDS = 5;
/** The time for which an expired lease is watched. */
export const CONFIRM_SECONDS = 2 * HEARTBEAT_SECONDS;
/**
 * The time for which a lease is watched that ended long ago by the time of day:
 * a heartbeat, and a second to spare. No process takes over sooner, whatever its
 * clock says: so long the holder need not look if it still has the lease.
 */
export const CONFIRM_OLD_MILLISECONDS = (HEARTBEAT_SECONDS + 1) * 1000;

export function setLease(
  transaction: Transaction,
  taskId: string,
  now: number,
): Transaction {
  const expiresAt = now + LEASE_SECONDS;
  return transaction.set<Expiring>(taskLeaseKey(taskId), { expiresAt });
}

interface Suspicion {
  versionstamp: string | null;
  sinceMilliseconds: number;
}

/** The leases that a process watches, by id. */
export class WatchedLeases {
  readonly #suspicions = new LatestMap<Suspicion>();

  constructor(
    private readonly database: Pick<Database, "answersForMilliseconds">,
    private readonly confirmMilliseconds: number,
  ) {}

  /**
   * Watches a lease; true once it was not renewed for long enough.
   *
   * @param isOld true if it ended long ago by the time of day
   */
  hasLapsed(
    id: string,
    { versionstamp }: Entry<unknown>,
    isOld = false,
  ): boolean {
    const confirmMilliseconds = isOld
      ? Math.min(this.confirmMilliseconds, CONFIRM_OLD_MILLISECONDS)
      : this.confirmMilliseconds;
    const now = performance.now();
    const before = this.#suspicions.get(id);
    const milliseconds = now - (before?.sinceMilliseconds ?? now);
    if (
      before?.versionstamp !== versionstamp ||
      this.database.answersForMilliseconds <= milliseconds
    ) {
      this.#suspicions.set(id, { versionstamp, sinceMilliseconds: now });
      return this.confirmMilliseconds === 0;
    }
    return milliseconds >= confirmMilliseconds;
  }

  /** True if a lease is watched. */
  isWatched(id: string): boolean {
    return this.#suspicions.get(id) !== undefined;
  }

  /** Stops watching a lease: it was renewed, or its task has ended. */
  forget(id: string): void {
    this.#suspicions.delete(id);
  }
}
