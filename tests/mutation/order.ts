/**
 * What the process that breaks rules and those that run tests tell each other,
 * one line of JSON each.
 *
 * @module
 */

/** Begins a line that is a report; others are what tests print. */
export const MARK = "\u0001";

/** The name of the function that is asked whether a mutant is switched on. */
export const SWITCH = "__mutant";

/** As the mutant of an order: nothing is broken. */
export const NO_MUTANT = -1;

/** Run a test, by its place in {@linkcode Loaded.tests}. */
export interface Order {
  test: number;
  mutant: number;
}

/** The files are loaded. */
export interface Loaded {
  tests: string[];
  /** Mutants that were reached meanwhile. */
  reached: number[];
}

/** A test ran. */
export interface Ran {
  passed: boolean;
  /** With a mutant, it or none. */
  reached: number[];
}
