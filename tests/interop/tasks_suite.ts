import assert from "node:assert/strict";
import { until } from "../kit/wait.ts";
import { startOn } from "./fixture_server.ts";
import { request } from "./wire.ts";

const CAPABILITIES = { extensions: { "io.modelcontextprotocol/tasks": {} } };

Deno.test("a task does not run for ever when its process crashes", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const kvPath = `${directory}/tasks.db`;
    await using first = await startOn(kvPath);
    await using second = await startOn(kvPath);
    const { taskId } = await request(
      first.url,
      "tools/call",
      { name: "slow_compute", arguments: { seconds: 600 } },
      CAPABILITIES,
    );
    const status = async () => {
      const task = await request(
        second.url,
        "tasks/get",
        { taskId },
        CAPABILITIES,
      );
      return task.status;
    };
    assert.equal(await status(), "working");
    await first.crash();
    await until(async () => await status() !== "working");
    assert.equal(await status(), "failed");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
