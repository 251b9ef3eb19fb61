/**
 * The first result among several items.
 *
 * @module
 */

/** Returns the first value that `find` finds in an item. */
export function firstOf<T, R>(
  items: readonly T[],
  find: (item: T) => R | undefined,
): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
}
