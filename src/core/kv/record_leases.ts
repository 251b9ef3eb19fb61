/**
 * Leases that are written into the records they are for, and are not renewed: they
 * lapse once another process has seen them unchanged for all their time.
 *
 * @module
 */
import type { Database, Expiring, Found } from "./database.ts";
import { WatchedLeases } from "./leases.ts";

/**
 * The time after its end at which a lease has lapsed by the time of day alone, in
 * seconds: no one waits for a process that died long ago.
 */
const FORGOTTEN_SECONDS = 10 * 60;

/** A record with a lease for what is in it. */
export interface Leasable extends Expiring {
  /** The time at which the lease ends, by its holder's clock. */
  leaseUntil?: number;
}

/** The leases that are written into records, each for as many seconds. */
export class RecordLeases {
  readonly #watched: WatchedLeases;

  constructor(
    private readonly database: Pick<Database, "answersForMilliseconds" | "now">,
    seconds: number,
  ) {
    this.#watched = new WatchedLeases(database, seconds * 1000);
  }

  /** True while a process may have the lease of a record, which is watched. */
  isTaken(found: Found<Leasable>): boolean {
    return !this.isOver(found.value) &&
      !this.#watched.hasLapsed(JSON.stringify(found.key), found);
  }

  /** True if a record has no lease, or one of long ago. */
  isOver({ leaseUntil }: Leasable): boolean {
    return leaseUntil === undefined ||
      leaseUntil + FORGOTTEN_SECONDS <= this.database.now();
  }
}
