/**
 * The optional files of a project: the files for a container, which are copies
 * of our own, and a workflow that checks each push.
 *
 * @module
 */

const WORKFLOW = `name: ci
on: [push, pull_request]
permissions:
  contents: read
jobs:
  ci:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: denoland/setup-deno@v2
        with:
          deno-version: v2.x
      - run: deno task ci
`;

/** Reads a file of the package, from a disk or from a URL. */
async function read(path: string): Promise<string> {
  const response = await fetch(new URL(`../../${path}`, import.meta.url));
  if (!response.ok) {
    throw new Error(`${response.url} answers ${response.status}`);
  }
  return await response.text();
}

/**
 * The functions that make files, by the name on the command line. Each returns
 * texts keyed by path.
 */
export const ADDABLE_FILES: Readonly<
  Record<string, () => Promise<Record<string, string>>>
> = {
  docker: async () => ({
    "Dockerfile": await read("Dockerfile"),
    ".dockerignore": await read(".dockerignore"),
  }),
  workflow: () => Promise.resolve({ ".github/workflows/ci.yml": WORKFLOW }),
};
