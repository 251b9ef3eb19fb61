import assert from "node:assert/strict";
import { statelessPrinter } from "../../../src/mcp/wire/printer.ts";

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
