/**
 * One thing the doctor looks at.
 *
 * @module
 */
import type { Site } from "./site.ts";

/** One thing to look at. */
export interface Check {
  /** What it is, and whom it matters to. */
  name: string;
  /**
   * What was found, if it is well.
   *
   * @throws {Fault} when it is not
   * @throws {Skipped} when there is nothing to look at
   */
  run(site: Site): string | Promise<string>;
}
