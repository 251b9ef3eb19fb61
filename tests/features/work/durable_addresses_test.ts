/** Durable work of people, while the address of their server moves. */
import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { Client } from "../../kit/client.ts";
import { test } from "../../kit/databases.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import { resultOf } from "../../kit/answer.ts";
import type { Json } from "../../kit/message.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

const ELSEWHERE = "https://elsewhere.example.com";

/** A tool that sleeps, and the number of times that it woke. */
function napping() {
  const slept = { wakings: 0 };
  const nap = tool({
    name: "nap",
    task: { durable: true },
    async run(_input, { sleep }) {
      await sleep("nap", 60);
      slept.wakings++;
      return "woken";
    },
  });
  return { nap, slept };
}

/** A person's call of `nap`, and the ways to follow it. */
async function begin(server: OAuthServer) {
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const options = {
    headers: { authorization: `Bearer ${access_token}` },
    capabilities: TASKS,
  };
  const called = server.call("tools/call", { name: "nap" }, options);
  const { taskId } = await resultOf(called);
  return {
    read: (at: OAuthServer): Promise<Json> =>
      resultOf(at.call("tasks/get", { taskId }, options)),
  };
}

test.inMemory("work of another address is left to it, and goes on when that is back", async ({ kv }) => {
  using time = new MovedTime();
  const { nap, slept } = napping();
  let task: Awaited<ReturnType<typeof begin>>;
  {
    await using server = await startOAuthServer({ tools: [nap], kv });
    task = await begin(server);
    await until(() => server.app.running === 0);
  }
  {
    await using renamed = await startOAuthServer({
      tools: [nap],
      kv,
      baseUrl: ELSEWHERE,
    });
    time.tick(120);
    for (let n = 0; n < 5; n++) await renamed.app.wake();
    await until(() => renamed.app.running === 0);
  }
  assert.equal(slept.wakings, 0);
  await using back = await startOAuthServer({ tools: [nap], kv });
  await until(async () => {
    await back.app.wake();
    return (await task.read(back)).status === "completed";
  });
  assert.equal(slept.wakings, 1);
});
