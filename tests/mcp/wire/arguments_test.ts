import assert from "node:assert/strict";
import { argumentsOf } from "../../../src/mcp/wire/arguments.ts";
import { refuses } from "../../kit/refuses.ts";

Deno.test("argumentsOf() takes an object, and none for null or nothing", () => {
  assert.deepEqual(argumentsOf({ arguments: { a: 1 } }), { a: 1 });
  assert.deepEqual(argumentsOf({ arguments: null }), {});
  assert.deepEqual(argumentsOf({}), {});
});

Deno.test("argumentsOf() refuses what is no object", () => {
  for (const args of [[], "a", 1, false]) {
    refuses(() => argumentsOf({ arguments: args }), -32602);
  }
});
