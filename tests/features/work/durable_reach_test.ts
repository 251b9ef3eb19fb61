/** Durable work that is taken over runs as the person who they are now. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { messageOf } from "../../../src/core/thrown.ts";
import { resultOf } from "../../kit/answer.ts";
import { Client } from "../../kit/client.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { startServer } from "../../kit/server.ts";
import {
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { MAX_TAKEN_PER_CALLER } from "../../../src/features/work/run_poller.ts";
import { until } from "../../kit/wait.ts";

const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const EXPELLED = "The permission for this task has ended, or is paused";

/** A tool whose first try hangs, and that tells who it runs as. */
function reportTool() {
  let tries = 0;
  const report = tool({
    name: "report",
    scopes: ["report"],
    task: { durable: true },
    async run(_input, { step, caller, upstream }) {
      await step("hang", async () => {
        if (++tries === 1) await new Promise(() => {});
      }, { retries: 1 });
      const token = await upstream.token();
      return JSON.stringify({ caller, token });
    },
  });
  const known = tool({
    name: "known",
    scopes: ["report"],
    task: { durable: true },
    output: z.array(z.json()),
    async run(_input, context) {
      await context.step("hang", async () => {
        if (++tries === 1) await new Promise(() => {});
      }, { retries: 1 });
      let upstream = "";
      try {
        void context.upstream;
      } catch (error) {
        upstream = messageOf(error);
      }
      const { subject, scopes, grantId } = context.caller;
      return [{ subject, scopes, grantId, upstream } as Json];
    },
  });
  const look = tool({ name: "look", scopes: ["look"], run: () => "open" });
  return { tools: [report, known, look], tries: () => tries };
}

/** Begins work at a server, which then stops; another one goes on with it. */
async function takenOver(
  name: string,
  check: (task: Json) => void,
  later: (client: Client) => OAuthServerOptions = () => ({}),
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const { tools, tries } = reportTool();
  const first = await startOAuthServer({ tools, kv });
  const client = await Client.register(first);
  const tokens = await client.connect({ scope: "report" });
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const { taskId } = await resultOf(
    first.call("tools/call", { name }, { headers, capabilities }),
  );
  await until(() => tries() === 1);
  // Its end does not end the task of a server that stops at the same time.
  first.app.endStreams();
  await first[Symbol.asyncDispose]();
  const { log, events } = recordLog("info");
  const options = { tools, kv, log, ...later(client) };
  await using server = await startOAuthServer(options);
  // Any request wakes it.
  await (await server.fetch("/health")).body?.cancel();
  let task: Json;
  await until(async () => {
    const found = await kv.get<Json>(["task", taskId]);
    task = found.value;
    return task.status !== "working";
  });
  const outcome = JSON.parse(task.outcome?.text ?? "null");
  // It is reported, whatever has ended it.
  await until(() => events.some(({ message }) => message === "Task"));
  check({ ...task, outcome });
}

Deno.test("work that is taken over runs as its person, and has words for the provider's API that it lacks", () =>
  takenOver("known", (task) => {
    assert.equal(task.status, "completed");
    const [known] = task.outcome.structuredContent;
    assert.deepEqual(known.scopes, ["report"]);
    assert.match(known.subject, /^github:/);
    assert.match(known.grantId, /./);
    assert.match(known.upstream, /The provider's API is out of reach/);
  }));

Deno.test("work that is taken over and needs the provider's API tells so", () =>
  takenOver("report", (task) => {
    assert.equal(task.status, "completed");
    assert.equal(task.outcome.isError, true);
    assert.match(task.outcome.content[0].text, /API is out of reach/);
  }));

Deno.test("work whose person may not use the tool any more is not taken over", () =>
  takenOver("known", (task) => {
    assert.equal(task.status, "failed");
    assert.equal(task.outcome.message, EXPELLED);
  }, () => ({ environment: { OAUTH_PERMISSIONS: "*=look" } })));

Deno.test("work whose client the operator has blocked is not taken over", () =>
  takenOver("known", (task) => {
    assert.equal(task.status, "failed");
    assert.equal(task.outcome.message, EXPELLED);
  }, ({ clientId }) => ({
    environment: { OAUTH_BLOCKED: `client:${clientId}` },
  })));

test.inMemory("work that goes on keeps to callsAtOnce of its tool", async ({ kv }) => {
  using time = new FakeTime();
  let running = 0;
  const ends: PromiseWithResolvers<void>[] = [];
  const alone = tool({
    name: "alone",
    task: { durable: true },
    limit: { callsAtOnce: 1 },
    async run(_input, { sleep, step }) {
      await sleep("nap", 60);
      await step("work", async () => {
        assert.equal(++running, 1);
        const end = Promise.withResolvers<void>();
        ends.push(end);
        await end.promise;
        running--;
      });
      return "done";
    },
  });
  await using server = await startServer({ tools: [alone], kv });
  const taskIds: string[] = [];
  for (const _ of "123") {
    const called = server.call("tools/call", { name: "alone" }, {
      capabilities,
    });
    taskIds.push((await resultOf(called)).taskId);
    await until(() => server.app.running === 0);
  }
  time.tick(60);
  for (let n = 1; n <= 3; n++) {
    const waking = server.app.wake();
    await until(() => ends.length === n);
    // A new call has no place either.
    const refused = await server.call("tools/call", { name: "alone" }, {
      capabilities,
    });
    assert.match(await refused.text(), /calls to alone at a time/);
    const isInTurn = async (taskId: string) => {
      const read = server.call("tasks/get", { taskId }, { capabilities });
      return (await resultOf(read)).statusMessage ===
        "Waits for its turn among the calls of alone";
    };
    await until(async () =>
      (await Promise.all(taskIds.map(isInTurn))).filter(Boolean).length ===
        3 - n
    );
    ends[n - 1].resolve();
    await waking;
    time.tick(10);
  }
  for (const taskId of taskIds) {
    const task = await kv.get<Json>(["task", taskId]);
    assert.deepEqual([task.value.status, task.value.isError], [
      "completed",
      undefined,
    ]);
  }
});

test.inMemory("work that is taken over leaves room for that of others", async ({ kv }) => {
  const slow: string[] = [];
  const hang = tool({
    name: "hang",
    task: { durable: true },
    async run(_input, { step, caller }) {
      await step("slow", async () => {
        slow.push(caller.subject);
        await new Promise(() => {});
      }, { retries: 1 });
      return "";
    },
  });
  const count = (subject: string) => slow.filter((it) => it === subject).length;
  const first = await startOAuthServer({ tools: [hang], kv });
  const client = await Client.register(first);
  const begin = async (subject: string, times: number) => {
    first.provider.subject = subject;
    const { access_token } = await client.connect();
    const headers = { authorization: `Bearer ${access_token}` };
    for (let n = 0; n < times; n++) {
      const called = first.call("tools/call", { name: "hang" }, {
        headers,
        capabilities,
      });
      assert.equal((await resultOf(called)).resultType, "task");
    }
  };
  await begin("42", MAX_TAKEN_PER_CALLER + 10);
  await begin("43", 1);
  await until(() => slow.length === MAX_TAKEN_PER_CALLER + 11);
  first.app.endStreams();
  await first[Symbol.asyncDispose]();
  slow.length = 0;
  await using second = await startOAuthServer({ tools: [hang], kv });
  await until(async () => {
    await (await second.fetch("/health")).body?.cancel();
    const runs = await Array.fromAsync(kv.list<Json>({ prefix: ["task-run"] }));
    // Left to others: it is no one's at once.
    const left = runs.filter(({ value }) => value.isParked).length;
    return left === 10 && slow.length === MAX_TAKEN_PER_CALLER + 1;
  });
  assert.equal(count("github:42"), MAX_TAKEN_PER_CALLER);
  assert.equal(count("github:43"), 1);
});
