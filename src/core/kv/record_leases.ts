/**
 * Leases that are stored in the records that they are for, and not renewed.
 * Such a lease lapses once another process has seen it unchanged for its whole
 * time.
 *
 * @module
 */
import type { Database, Expiring, Found } from "./database.ts";
import { WatchedLeases } from "./leases.ts";

/**
 * The seconds after its end when a lease counts as lapsed by the clock alone,
 * so that no one waits for a process that died long ago.
 */
const FORGOTTEN_SECONDS = 10 * 60;

/** A record with a lease. */
export interface Leasable extends Expiring {
  /** The time at which the lease ends, by its holder's clock. */
  leaseUntil?: number;
}

/** The leases of one kind of record, all of the same length. */
export class RecordLeases {
  readonly #watched: WatchedLeases;

  constructor(
    private readonly database: Pick<Database, "answersForMilliseconds" | "now">,
    seconds: number,
  ) {
    this.#watched = new WatchedLeases(database, seconds * 1000);
  }

  /**
   * True while a process may hold the lease of a record, which is watched from
   * now on.
   */
  isTaken(found: Found<Leasable>): boolean {
    return !this.isOver(found.value) &&
      !this.#watched.hasLapsed(JSON.stringify(found.key), found);
  }

  /** True if a record has no lease, or one that ended long ago. */
  isOver({ leaseUntil }: Leasable): boolean {
    return leaseUntil === undefined ||
      leaseUntil + FORGOTTEN_SECONDS <= this.database.now();
  }
}
