/**
 * Finds the first index for which `isBefore` is false, by binary search;
 * `count` if there is none. `isBefore` must be false for all later indexes,
 * too.
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
