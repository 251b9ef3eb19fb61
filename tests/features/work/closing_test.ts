/** Durable work of a server that closes. */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { test } from "../../kit/databases.ts";
import { kvThrough } from "../../kit/kv.ts";
import { startServer } from "../../kit/server.ts";
import { beginTask } from "../../kit/task.ts";
import { settled, until } from "../../kit/wait.ts";

const nap = tool({
  name: "nap",
  task: { durable: true },
  async run(_, { sleep }) {
    await sleep("rest", 60);
    return "rested";
  },
});

test.inMemory("close() of a server waits for a run that is just being parked", async ({ kv }) => {
  const commit = Promise.withResolvers<void>();
  let isParking = false;
  let isHeld = false;
  let underWay = 0;
  const slow = kvThrough(kv, async (operation, key) => {
    underWay++;
    try {
      if (isHeld) { for (let turn = 0; turn < 20; turn++) await settled(); }
      else if (isParking && !key) {
        isHeld = true;
        await commit.promise;
      } else isParking ||= `${key}`.includes("task-run");
      return await operation();
    } finally {
      underWay--;
    }
  });
  const server = await startServer({ tools: [nap], kv: slow });
  await beginTask(server, "nap");
  await until(() => isHeld);
  server.app.stop();
  const closed = server.app.close();
  await until(() => server.app.running === 0 && underWay === 1);
  commit.resolve();
  await closed;
  assert.equal(underWay, 0);
});
