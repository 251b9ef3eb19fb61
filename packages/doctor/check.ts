/**
 * The checks of the doctor: those that matter to every client, and those that
 * directories make.
 *
 * @module
 */
import type { Site } from "./site.ts";

/** A check of one property of a server. */
export interface Check {
  /**
   * The property that is checked and, in brackets, the clients to which it
   * matters.
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
