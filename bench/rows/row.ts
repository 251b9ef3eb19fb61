/**
 * A row of the benchmark.
 *
 * @module
 */
import type { Server } from "../servers.ts";
import type { Sample } from "../statistics.ts";

/** One measurement of every server. */
export interface Row {
  /** The name for `--rows`. */
  name: string;
  title: string;
  /** True if the server can do it at all. */
  takes(server: Server): boolean;
  measure(server: Server, options: MeasureOptions): Promise<Sample>;
  /** Prints the samples as Markdown. */
  report(samples: ReadonlyMap<Server, readonly Sample[]>): string;
}

interface MeasureOptions {
  /** The seconds that one load lasts. */
  seconds: number;
  /** The number of sessions, and of grants, in a big database. */
  records: number;
}

/** The time for the compiler to find hot code, on a slow machine too. */
export const WARM_UP_SECONDS = 3;
