/**
 * Leases: the right of one process to do something until a time. An expired
 * lease does not prove that its holder stopped: the holder may have been unable
 * to renew it because the database was unreachable, and the clocks of two
 * machines differ. A lease has lapsed once another process has seen it
 * unchanged for long enough while the database responded; for a task's lease,
 * for two heartbeats. This watching time is stored in the lease of a task, so
 * that processes that live for only a few seconds can add up their times.
 * @module
 */
import { LatestMap } from "../cache.ts";
import type { Database, Entry, Expiring, Transaction } from "./database.ts";
import { taskLeaseKey } from "./keys.ts";
import { bestEffort } from "./operations.ts";

/** The lifetime of a lease after each renewal. */
export const LEASE_SECONDS = 30;
/** The time between two renewals of a lease. */
export const HEARTBEAT_SECONDS = 5;
/**
 * The time for which an expired lease is watched before another process may
 * take it. So a holder that renews in time keeps its lease, whatever the clocks
 * say.
 */
export const LAPSE_SECONDS = 2 * HEARTBEAT_SECONDS;

export function setLease(
  transaction: Transaction,
  taskId: string,
  now: number,
): Transaction {
  const expiresAt = now + LEASE_SECONDS;
  return transaction.set<TaskLease>(taskLeaseKey(taskId), { expiresAt });
}

/** The lease of a task, which its holder renews, or other processes watch. */
export interface TaskLease extends Expiring {
  /**
   * The time for which processes have seen the lease expired; absent while it
   * is renewed.
   */
  watchedMilliseconds?: number;
}

/** True while the lease of a task has not expired. */
export function isHeld({ value }: { value?: TaskLease | null }): boolean {
  return value != null && value.watchedMilliseconds === undefined;
}

/** The time for which the record of a watched lease is stored. */
const WATCHED_SECONDS = 60 * 60;

interface Suspicion {
  /** A text that changes with each renewal of the lease. */
  renewal: string | null;
  sinceMilliseconds: number;
  /**
   * The time for which other processes had watched the lease before this one.
   */
  beforeMilliseconds: number;
  /** The part of this process's watching time that is stored in the lease. */
  notedMilliseconds: number;
}

/** The leases that a process watches, by id. */
export class WatchedLeases {
  readonly #suspicions = new LatestMap<Suspicion>();

  constructor(
    private readonly database: Pick<Database, "answersForMilliseconds">,
    private readonly lapseMilliseconds: number,
  ) {}

  /**
   * Watches a lease. Returns true once enough time has passed without a
   * renewal.
   *
   * @param renewal a text that changes with each renewal
   * @param beforeMilliseconds the time for which other processes have watched
   * it
   */
  hasLapsed(
    id: string,
    renewal: string | null,
    beforeMilliseconds = 0,
  ): boolean {
    const now = performance.now();
    const before = this.#suspicions.get(id);
    const milliseconds = now - (before?.sinceMilliseconds ?? now);
    if (
      before?.renewal !== renewal ||
      this.database.answersForMilliseconds <= milliseconds
    ) {
      this.#suspicions.set(id, {
        renewal,
        sinceMilliseconds: now,
        beforeMilliseconds,
        notedMilliseconds: 0,
      });
      return this.lapseMilliseconds === 0;
    }
    return before.beforeMilliseconds + milliseconds >= this.lapseMilliseconds;
  }

  isWatched(id: string): boolean {
    return this.suspicion(id) !== undefined;
  }

  /** Stops watching a lease, because it was renewed or its task has ended. */
  forget(id: string): void {
    this.#suspicions.delete(id);
  }

  protected suspicion(id: string): Suspicion | undefined {
    return this.#suspicions.get(id);
  }
}

/** The leases of tasks that a process watches, by the IDs of the tasks. */
export class WatchedTaskLeases extends WatchedLeases {
  constructor(
    private readonly store: Database,
    lapseSeconds: number,
  ) {
    super(store, lapseSeconds * 1000);
  }

  /**
   * Watches the lease of a task, and stores the watching time now and then.
   * Returns true once enough time has passed without a renewal.
   */
  async watch(taskId: string, lease: Entry<TaskLease>): Promise<boolean> {
    const before = lease.value?.watchedMilliseconds;
    if (this.hasLapsed(taskId, lease.versionstamp, before)) return true;
    const watched = this.suspicion(taskId);
    if (isHeld(lease) || !watched) return false;
    const own = performance.now() - watched.sinceMilliseconds;
    if (own - watched.notedMilliseconds < HEARTBEAT_SECONDS * 1000) {
      return false;
    }
    watched.notedMilliseconds = own;
    await bestEffort(async () => {
      const versionstamp = await this.store.commit((transaction) =>
        transaction.check(lease).set<TaskLease>(lease.key, {
          expiresAt: this.store.now() + WATCHED_SECONDS,
          watchedMilliseconds: watched.beforeMilliseconds + own,
        })
      );
      // Only the watched time was written, so the lease is still the same.
      if (versionstamp) watched.renewal = versionstamp;
    });
    return false;
  }
}
