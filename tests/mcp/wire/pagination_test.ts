import assert from "node:assert/strict";
import { printPages } from "../../../src/mcp/wire/pagination.ts";
import { refuses } from "../../kit/refuses.ts";

const ITEMS = [1, 2, 3, 4, 5].map((n) => ({ n }));

function pagesOf(items = ITEMS, pageSize = 2) {
  const pages = printPages("items", items, pageSize, JSON.stringify);
  return (cursor?: unknown) => JSON.parse(pages.at(cursor));
}

Deno.test("printPages() walks the list in order, page by page", () => {
  const at = pagesOf();
  const seen = [];
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = at(cursor);
    assert.ok(items.length <= 2);
    seen.push(...items);
    cursor = nextCursor;
  } while (cursor);
  assert.deepEqual(seen, ITEMS);
});

Deno.test("printPages() ends without a cursor, also on a full last page", () => {
  assert.equal(pagesOf(ITEMS.slice(0, 2))().nextCursor, undefined);
  assert.equal(pagesOf(ITEMS, 5)().nextCursor, undefined);
});

Deno.test("printPages() has one page for an empty list", () => {
  assert.deepEqual(pagesOf([])(), { items: [] });
});

Deno.test("printPages() refuses cursors it never gave", () => {
  const at = pagesOf();
  for (const cursor of ["", "x", "2", 2, {}]) {
    refuses(() => at(cursor), -32602);
  }
});

Deno.test("printPages() refuses a cursor into another list", () => {
  const { nextCursor } = pagesOf()();
  const changed = pagesOf([...ITEMS, { n: 6 }]);
  refuses(() => changed(nextCursor), -32602);
});

Deno.test("printPages() refuses a cursor into the same items of another member", () => {
  const { nextCursor } = pagesOf()();
  const others = printPages("others", ITEMS, 2, JSON.stringify);
  refuses(() => others.at(nextCursor), -32602);
});
