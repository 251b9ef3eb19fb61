/**
 * The checks of the doctor: for every client, and for the directories.
 *
 * @module
 */
import type { Site } from "./site.ts";

/** A check of one property of a server. */
export interface Check {
  /**
   * The property that is checked and, in brackets, the clients that it matters
   * to.
   */
  name: string;
  /**
   * Runs the check and describes a good result.
   *
   * @throws {Fault} when the result is not good
   * @throws {Skipped} when there is nothing to check
   */
  run(site: Site): string | Promise<string>;
}

export type Store = "claude" | "chatgpt";

export const STORES: readonly Store[] = ["claude", "chatgpt"];

export interface StoreCheck extends Check {
  /** The directories whose reviewers make this check. */
  stores: readonly Store[];
}
