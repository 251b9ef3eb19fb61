/**
 * The tests that should notice when a file breaks, nearest first.
 *
 * @module
 */

/** Further folders with tests that use a folder's rules, below `tests/`. */
const WIDER: Readonly<Record<string, readonly string[]>> = {
  auth: ["attacks", "flow", "mcp/endpoint"],
  http: ["auth", "pages", "attacks"],
  mcp: ["flow", "attacks", "fuzz"],
  store: ["auth", "mcp/endpoint", "flow", "faults", "attacks"],
  pages: ["auth", "attacks"],
};

/**
 * Lists groups of paths to test, each run only if those before it noticed
 * nothing: the file's own test, its folder's, then others' unless they are not
 * wanted.
 *
 * @param exists tells if there is such a test or folder of tests
 */
export function nearestTests(
  path: string,
  exists: (path: string) => boolean,
  isNearOnly = false,
): string[][] {
  const inner = path.replace(/^src\//, "");
  const own = `tests/${inner.replace(/\.tsx?$/, "_test.ts")}`;
  const folders = inner.split("/").slice(0, -1)
    .map((_, at, all) => `tests/${all.slice(0, at + 1).join("/")}/`)
    .reverse();
  const [area] = inner.split("/");
  const wider = (WIDER[area] ?? ["attacks", "flow"])
    .map((folder) => `tests/${folder}/`);
  return [[own, `${own}x`], folders, isNearOnly ? [] : wider]
    .map((group) => group.filter(exists))
    .filter((group) => group.length > 0);
}

/** The distances of {@linkcode rankOf}, nearest first. */
export const DISTANCES = [
  "the file's own test",
  "its folder's",
  "those that see it work",
  "all others",
];

/** Gives a place in {@linkcode DISTANCES}. */
export function rankOf(path: string, test: string): number {
  const groups = nearestTests(path, () => true);
  const rank = groups.findIndex((group) =>
    group.some((place) => test === place || test.startsWith(place))
  );
  return rank < 0 ? DISTANCES.length - 1 : rank;
}
