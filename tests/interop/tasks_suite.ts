import assert from "node:assert/strict";
import { resultOf } from "../kit/answer.ts";
import type { Json } from "../kit/message.ts";
import { RemoteServer } from "../kit/server.ts";
import { until } from "../kit/wait.ts";
import { startOn } from "./fixture_server.ts";

const CAPABILITIES = { extensions: { "io.modelcontextprotocol/tasks": {} } };

Deno.test("a task does not run for ever when its process crashes", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const kvPath = `${directory}/tasks.db`;
    await using first = await startOn(kvPath);
    await using second = await startOn(kvPath);
    const call = (url: string, method: string, params: Json) =>
      resultOf(
        new RemoteServer(url).call(method, params, {
          capabilities: CAPABILITIES,
        }),
      );
    const { taskId } = await call(first.url, "tools/call", {
      name: "slow_compute",
      arguments: { seconds: 600 },
    });
    const status = async () =>
      (await call(second.url, "tasks/get", { taskId })).status;
    assert.equal(await status(), "working");
    await first.crash();
    await until(async () => await status() !== "working");
    assert.equal(await status(), "failed");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
