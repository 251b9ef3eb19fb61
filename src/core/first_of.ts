/** Calls `find` for each item until it returns a value, and returns that. */
export function firstOf<T, R>(
  items: readonly T[],
  find: (item: T) => R | undefined,
): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
}
