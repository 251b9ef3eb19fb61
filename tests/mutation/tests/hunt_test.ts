import assert from "node:assert/strict";
import { nearestTests, rankOf } from "../hunt.ts";

Deno.test("nearestTests() begins with a file's own test and goes outwards", () => {
  const there = [
    "tests/core/mcp/methods/completion_test.ts",
    "tests/core/mcp/methods/",
    "tests/core/mcp/",
    "tests/flow/",
  ];
  const found = (isNearOnly: boolean) =>
    nearestTests(
      "src/core/mcp/methods/completion.ts",
      (path) => there.includes(path),
      isNearOnly,
    );
  const near = [[there[0]], [there[1], there[2]]];
  assert.deepEqual(found(true), near);
  assert.deepEqual(found(false), [...near, [there[3]]]);
});

Deno.test("rankOf() tells how near a test is", () => {
  const rank = (test: string) => rankOf("src/core/store/rate.ts", test);
  assert.equal(rank("tests/core/store/rate_test.ts"), 0);
  assert.equal(rank("tests/core/store/once_test.ts"), 1);
  assert.equal(rank("tests/flow/limits_test.ts"), 2);
  assert.equal(rank("tests/core/pages/routes_test.ts"), 3);
  const ofPostgres = (test: string) =>
    rankOf("packages/postgres/atomic.ts", test);
  assert.equal(ofPostgres("tests/postgres/promises_test.ts"), 1);
  assert.equal(ofPostgres("tests/core/kv/database_test.ts"), 1);
  assert.equal(ofPostgres("tests/core/store/once_test.ts"), 3);
});
