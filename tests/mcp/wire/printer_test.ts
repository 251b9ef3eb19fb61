import assert from "node:assert/strict";
import {
  sessionPrinter,
  statelessPrinter,
} from "../../../src/mcp/wire/printer.ts";

const SERVER = "io.modelcontextprotocol/serverInfo";
const serverInfo = { name: "s", version: "1" };
const printer = statelessPrinter(serverInfo);

Deno.test("sessionPrinter leaves a result as it is", () => {
  const result = { content: [], _meta: { a: 1 } };
  const cache = { ttlMs: 1000, cacheScope: "public" } as const;
  assert.deepEqual(JSON.parse(sessionPrinter.result(result, cache)), result);
});

Deno.test("statelessPrinter() names the type and the server of a result", () => {
  assert.deepEqual(JSON.parse(printer.result({ a: 1 })), {
    resultType: "complete",
    _meta: { [SERVER]: serverInfo },
    a: 1,
  });
  assert.deepEqual(JSON.parse(printer.result({})), {
    resultType: "complete",
    _meta: { [SERVER]: serverInfo },
  });
});

Deno.test("statelessPrinter() says how long and by whom a result may be kept", () => {
  const cache = { ttlMs: 5000, cacheScope: "private" } as const;
  for (const result of [{}, { a: 1 }, { _meta: { b: 2 } }]) {
    const { ttlMs, cacheScope } = JSON.parse(printer.result(result, cache));
    assert.deepEqual({ ttlMs, cacheScope }, cache);
  }
});

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
