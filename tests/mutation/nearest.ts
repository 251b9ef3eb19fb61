/**
 * The tests that should notice when a file breaks, nearest first.
 *
 * @module
 */

/** Further folders with a folder's own tests. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  engine: ["tests/endpoint/"],
};

/** Further folders with tests that use a folder's rules. */
const WIDER: Readonly<Record<string, readonly string[]>> = {
  oauth: ["authorization_server", "gates", "client_documents", "attacks"],
  authorization_server: ["account", "attacks", "flow"],
  account: ["authorization_server", "attacks"],
  client_documents: ["authorization_server", "oauth", "attacks"],
  upstream: ["authorization_server", "account", "flow"],
  gates: ["authorization_server", "endpoint", "attacks"],
  http: ["authorization_server", "account", "pages", "attacks"],
  protocol: ["endpoint", "engine", "attacks", "fuzz"],
  engine: ["protocol", "flow", "attacks"],
  store: ["authorization_server", "endpoint", "flow", "faults", "attacks"],
  pages: ["authorization_server", "account", "attacks"],
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
  folders.push(...OWN[area] ?? []);
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
