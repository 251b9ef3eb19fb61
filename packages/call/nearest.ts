/**
 * The names that someone may have meant.
 *
 * @module
 */

/** Counts the characters to change, add or leave out between two words. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      next[j] = Math.min(
        row[j] + 1,
        next[j - 1] + 1,
        row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1),
      );
    }
    row = next;
  }
  return row[other.length];
}

const PROPOSED = 3;

/** Gives the names that are most like one; none if they are all different. */
export function nearest(name: string, names: readonly string[]): string[] {
  const wanted = name.slice(0, 100).toLowerCase();
  const found = names.map((it) => {
    const known = it.slice(0, 100).toLowerCase();
    const isPart = wanted !== "" && known.includes(wanted);
    return { it, far: isPart ? 0 : distance(wanted, known) };
  });
  const least = found.reduce(
    (least, { far }) => Math.min(least, far),
    Infinity,
  );
  const most = Math.max(2, Math.floor(wanted.length / 3));
  if (least > most || least >= wanted.length) return [];
  return found.filter(({ far }) => far === least).slice(0, PROPOSED)
    .map(({ it }) => it);
}

/** Prints a proposal after a complaint: `. Did you mean greet?` */
export function didYouMean(name: string, names: readonly string[]): string {
  const found = nearest(name, names);
  return found.length === 0 ? "" : `. Did you mean ${found.join(" or ")}?`;
}
