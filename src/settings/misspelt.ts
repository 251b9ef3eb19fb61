/**
 * Misspelt names of settings.
 *
 * @module
 */

/**
 * Finds the misspelt variant of an unset variable: a name that is set, that
 * nothing reads, and that is one letter away. A letter may be missing, added,
 * wrong, or exchanged with the next; case and underscores do not count.
 *
 * @param set names of variables that have a value
 * @param known every name that is read
 */
export function misspellings(
  set: readonly string[],
  known: ReadonlySet<string | undefined>,
): (name: string) => string | undefined {
  const strangers = set.filter((name) => !known.has(name))
    .map((name) => ({ name, letters: lettersOf(name) }))
    // One or two letters, such as those of the shell's `_`, are near to
    // anything.
    .filter(({ letters }) => letters.length > 2);
  return (name) => {
    const letters = lettersOf(name);
    return strangers.find((it) => isNear(it.letters, letters))?.name;
  };
}

function lettersOf(name: string): string {
  return name.replaceAll("_", "").toUpperCase();
}

function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const [restA, restB] = [a.slice(at), b.slice(at)];
  return restA.slice(1) === restB.slice(1) || restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    restA.slice(2) === restB.slice(2) && restA[0] === restB[1] &&
      restA[1] === restB[0];
}
