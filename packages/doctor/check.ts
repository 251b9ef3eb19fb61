/**
 * A check of the doctor.
 *
 * @module
 */
import type { Site } from "./site.ts";

/** A check. */
export interface Check {
  /** The name of the thing and, in brackets, the clients it matters to. */
  name: string;
  /**
   * Runs the check and describes a good result.
   *
   * @throws {Fault} when the result is not good
   * @throws {Skipped} when there is nothing to check
   */
  run(site: Site): string | Promise<string>;
}
