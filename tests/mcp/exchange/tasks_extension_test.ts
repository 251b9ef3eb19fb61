import assert from "node:assert/strict";
import {
  knowsTasks,
  printTask,
} from "../../../src/mcp/exchange/tasks_extension.ts";

Deno.test("printTask() lets clients poll less and less often while nothing changes", () => {
  const task = {
    taskId: "t",
    scopes: [],
    status: "working",
    createdMilliseconds: 500,
    updatedMilliseconds: 10_000,
    expiresAt: 60,
  } as const;
  const polls = [0, 9, 10, 30, 120, 600, 86400].map((seconds) =>
    printTask(task, 10_000 + seconds * 1000).pollIntervalMs
  );
  assert.deepEqual(polls, [1000, 1000, 2000, 5000, 15_000, 30_000, 30_000]);
  assert.equal(printTask(task, 0).ttlMs, 60_000);
});

Deno.test("knowsTasks() takes a client's word, and no other extension for it", () => {
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const revision = "2026-07-28";
  assert.equal(knowsTasks({ capabilities, revision }), true);
  for (const extensions of [undefined, {}, { other: {} }]) {
    assert.equal(knowsTasks({ capabilities: { extensions }, revision }), false);
  }
});
