/**
 * The checks of the doctor: those that matter to every client, and those that
 * directories make.
 *
 * @module
 */
import type { Site } from "./site.ts";

export interface Check {
  /**
   * The property that is checked and, in brackets, the clients to which it
   * matters.
   */
  name: string;
  /**
   * Runs the check and describes a good result.
   *
   * @throws {Fault} if the result is not good
   * @throws {Skipped} if the check does not apply
   */
  run(site: Site): string | Promise<string>;
}

export type Store = "claude" | "chatgpt";

export const STORES: readonly Store[] = ["claude", "chatgpt"];

export interface DirectoryCheck extends Check {
  /** The directories whose reviewers make this check. */
  stores: readonly Store[];
}
