/**
 * What is made when it is first needed, so that a process starts without it.
 *
 * @module
 */

/** Makes a value once, for the first that asks. */
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
