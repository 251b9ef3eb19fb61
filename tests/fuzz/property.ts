/**
 * A rule that holds for every input.
 *
 * @module
 */
import fc from "fast-check";
import { HttpError, OAuthError, RpcError } from "../../src/core/errors.ts";

/** A rule with a name, tried with a given number of inputs. */
export interface Property {
  name: string;
  /** @throws {Error} with the smallest input that breaks it, and the seed */
  run(options: { seed: number; numRuns: number }): Promise<void>;
}

/** The longest time for one input, in milliseconds. */
const PATIENCE = 10_000;

/** Makes a property of one kind of input. */
export function property<T>(
  name: string,
  inputs: fc.Arbitrary<T>,
  holds: (input: T) => unknown,
): Property {
  return {
    name,
    run: (options) =>
      fc.assert(
        fc.asyncProperty(inputs, async (input) => {
          await holds(input);
        }),
        { ...options, timeout: PATIENCE, endOnFailure: false },
      ),
  };
}

/** Gives a parser's value; undefined if it refuses as a parser may. */
export async function parsed<T>(
  parse: () => T | Promise<T>,
  ...refusals: (abstract new (...args: never[]) => Error)[]
): Promise<T | undefined> {
  try {
    return await parse();
  } catch (error) {
    const allowed = [RpcError, OAuthError, HttpError, ...refusals];
    if (allowed.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}
