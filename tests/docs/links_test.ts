import assert from "node:assert/strict";
import { isThere, linksOf, type Page, parsePage, readPages } from "./pages.ts";

/** Lists the links of a page that lead nowhere. */
async function deadLinks(
  page: Page,
  pages: readonly Page[],
): Promise<string[]> {
  const dead: string[] = [];
  for (const link of linksOf(page)) {
    if (/^(https?|mailto):/.test(link)) continue;
    const [target, anchor] = link.split("#");
    const path = new URL(target || page.path.replace(/.*\//, ""), base(page))
      .pathname.slice(1);
    const found = pages.find((it) => it.path === path);
    const isHere = (found !== undefined || await isThere(path)) &&
      (!anchor || !found || found.anchors.has(anchor));
    if (!isHere) dead.push(`${page.path}: ${link}`);
  }
  return dead;
}

function base({ path }: Page): URL {
  return new URL(path, "file:///");
}

Deno.test("deadLinks() finds a missing file, heading and picture", async () => {
  const page = parsePage(
    "docs/a.md",
    "# One task\n[a](#one-task) [b](#two) [c](../README.md) [d](none.md)\n" +
      '<img src="none.png"> `[e](none)` [f](https://example.com)\n',
  );
  assert.deepEqual(await deadLinks(page, [page]), [
    "docs/a.md: #two",
    "docs/a.md: none.md",
    "docs/a.md: none.png",
  ]);
});

Deno.test("every link, anchor and picture of the documents is there", async () => {
  const pages = await readPages();
  const dead = await Promise.all(pages.map((page) => deadLinks(page, pages)));
  assert.deepEqual(dead.flat(), []);
});

Deno.test("docs/index.md, which README.md links to, reaches every page of docs", async () => {
  const pages = await readPages();
  const reachedFrom = (path: string) => {
    const page = pages.find((it) => it.path === path)!;
    return linksOf(page).map((link) => link.split("#")[0]);
  };
  assert(reachedFrom("README.md").includes("docs/index.md"));
  const reached = reachedFrom("docs/index.md");
  const missed = pages.map(({ path }) => path.replace(/^docs\//, ""))
    .filter((path) => !/\/|^(README|CHANGELOG|SECURITY|index)\.md/.test(path))
    .filter((path) => !reached.includes(path));
  assert.deepEqual(missed, []);
});

/** The pages whose first words may be others: printed ones. */
const FREE = ["docs/settings.md"];

Deno.test("every page of docs begins with its reader and what it gives", async () => {
  const pages = await readPages();
  const silent = pages.filter(({ path, prose }) =>
    path.startsWith("docs/") && !FREE.includes(path) &&
    !/^# .+\n\n_?For [^\n]+/.test(prose)
  );
  assert.deepEqual(silent.map(({ path }) => path), []);
});
