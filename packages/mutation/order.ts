/**
 * The messages between the process that breaks rules and those that run tests,
 * one line of JSON each.
 *
 * @module
 */

/**
 * The beginning of a line that is a report; other lines are printed by tests.
 */
export const MARK = "\u0001";

/** The name of the function that tells if a mutant is switched on. */
export const SWITCH = "__mutant";

/** The mutant of an order that breaks nothing. */
export const NO_MUTANT = -1;

/** The order to run a test, by its place in {@linkcode Loaded.tests}. */
export interface Order {
  test: number;
  mutant: number;
}

/** The report that the files are loaded. */
export interface Loaded {
  tests: string[];
  /** Mutants that were reached while loading. */
  reached: number[];
}

/** The report of a test that ran. */
export interface Ran {
  passed: boolean;
  /** The order's mutant, or none; without a mutant, all that were reached. */
  reached: number[];
}
