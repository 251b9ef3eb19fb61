/**
 * What a row is.
 *
 * @module
 */
import type { Server } from "../servers.ts";
import type { Sample } from "../statistics.ts";

/** One thing to measure of every server. */
export interface Row {
  /** For `--rows`. */
  name: string;
  title: string;
  /** Whether the server can do it at all. */
  takes(server: Server): boolean;
  measure(server: Server, options: MeasureOptions): Promise<Sample>;
  /** The samples as Markdown. */
  report(samples: ReadonlyMap<Server, readonly Sample[]>): string;
}

/** How long to measure, and among how much. */
export interface MeasureOptions {
  /** How long one load lasts. */
  seconds: number;
  /** How many sessions, and grants, a big database has. */
  records: number;
}

/** Time for the compiler to find what is hot, on a slow machine too. */
export const WARM_UP_SECONDS = 3;
