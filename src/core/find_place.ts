/**
 * Binary search.
 *
 * @module
 */

/**
 * Finds the first index below `count` for which `isBefore` is false; `count` if
 * it is true for all. After an index for which it is false, it must stay false.
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
