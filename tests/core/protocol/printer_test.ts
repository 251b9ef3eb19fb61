import assert from "node:assert/strict";
import {
  printPages,
  statelessPrinter,
} from "../../../src/core/protocol/results.ts";
import { refuses } from "../../kit/refuses.ts";

const SERVER = "io.modelcontextprotocol/serverInfo";
const serverInfo = { name: "s", version: "1" };
const printer = statelessPrinter(serverInfo);

Deno.test("statelessPrinter() keeps a result's own type and _meta", () => {
  assert.deepEqual(JSON.parse(printer.result({ resultType: "task", a: 1 })), {
    resultType: "task",
    _meta: { [SERVER]: serverInfo },
    a: 1,
  });
  assert.deepEqual(JSON.parse(printer.result({ _meta: { b: 2 }, a: 1 })), {
    resultType: "complete",
    _meta: { [SERVER]: serverInfo, b: 2 },
    a: 1,
  });
});

Deno.test("statelessPrinter() says everything once", () => {
  for (const result of [{}, { a: 1 }, { resultType: "task" }, { _meta: {} }]) {
    const text = printer.result(result);
    assert.equal(text.match(/"resultType"/g)?.length, 1, text);
    assert.equal(text.match(/"_meta"/g)?.length, 1, text);
  }
});

const ITEMS = [1, 2, 3, 4, 5].map((n) => ({ n }));

function pagesOf(items = ITEMS, pageSize = 2) {
  const pages = printPages("items", items, pageSize, JSON.stringify);
  return (cursor?: unknown) => JSON.parse(pages.page(cursor));
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
  refuses(() => others.page(nextCursor), -32602);
});
