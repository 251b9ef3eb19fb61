/**
 * Values that are made when they are first needed, so that a process starts
 * without them.
 *
 * @module
 */

/** Makes a value once, at its first use. */
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
