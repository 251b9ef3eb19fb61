/**
 * The letters of names, by which a misspelt one is found.
 *
 * @module
 */

/** Gives the letters of a name: case and underscores do not count. */
export function lettersOf(name: string): string {
  return name.replaceAll("_", "").toUpperCase();
}

/**
 * True if one letter is missing, added, wrong, or exchanged with the next, or
 * none.
 */
export function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const [restA, restB] = [a.slice(at), b.slice(at)];
  return restA.slice(1) === restB.slice(1) || restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    restA.slice(2) === restB.slice(2) && restA[0] === restB[1] &&
      restA[1] === restB[0];
}
