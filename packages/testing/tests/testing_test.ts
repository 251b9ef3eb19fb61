import assert from "node:assert/strict";
import * as testing from "../mod.ts";

Deno.test("packages/testing/mod.ts exports these values and nothing else", () => {
  const values = Object.keys(testing);
  assert.deepEqual(values.toSorted(), [
    "RefusedError",
    "eachRevision",
    "serveApi",
    "serveTest",
    "testFile",
    "testMcpServer",
    "testServer",
  ]);
});

Deno.test("a test needs no permission", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      new URL("without_permissions.ts", import.meta.url).pathname,
    ],
  }).output();
  const [told, refused] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  assert.equal(code, 0, refused);
  assert.deepEqual(told.trim().split("\n"), [
    "2026-07-28 EU",
    '{"subjects":[]}',
    '{"doubled":2}',
    "2025-11-25 EU",
    '{"subjects":[]}',
  ]);
});
