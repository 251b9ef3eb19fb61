/**
 * Binary search.
 *
 * @module
 */

/**
 * Finds the first of `count` places for which `isBefore` is false. It must be
 * false for all later places, too.
 */
export function findPlace(
  count: number,
  isBefore: (place: number) => boolean,
): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
