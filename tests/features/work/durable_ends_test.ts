/** The end of durable work is logged once, by the process that ends it. */
import assert from "node:assert/strict";
import { openRegister } from "../../../packages/operate/register.ts";
import { tool } from "../../../src/authoring/tool.ts";
import type { Logger } from "../../../src/core/log/log.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf } from "../../kit/answer.ts";
import { Client } from "../../kit/client.ts";
import { test } from "../../kit/databases.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { startServer } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { beginTask, reached, TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

const nap = tool({
  name: "nap",
  task: { durable: true },
  async run(_input, { sleep }) {
    await sleep("nap", 3600);
    return "woken";
  },
});

const hang = tool({
  name: "hang",
  task: { durable: true },
  run: () => new Promise<string>(() => {}),
});

const tools = [nap, hang];

/** Ends of a task from outside: by its client, and by its person. */
const ENDS: Record<
  string,
  (
    server: OAuthServer,
    taskId: string,
    token: string,
    logger: Logger,
  ) => Promise<unknown>
> = {
  "its client": (server, taskId, token) =>
    resultOf(server.call("tasks/cancel", { taskId }, {
      headers: { authorization: `Bearer ${token}` },
      capabilities: TASKS,
    })),
  "the account page": async (server, taskId) => {
    const at = `/work?task=${taskId}`;
    const visitor = await AccountVisitor.signIn(server, { at });
    await visitor.press("/account/work/cancel");
  },
  "the end of its connection": async (server) => {
    const visitor = await AccountVisitor.signIn(server);
    await visitor.press("/account/end");
  },
  "an operator's command": async ({ kv }, _taskId, _token, logger) => {
    const register = openRegister(new Database(kv), logger);
    await register.endPerson("github:42");
    await register.close();
  },
};

for (const [by, end] of Object.entries(ENDS)) {
  for (const name of ["nap", "hang"]) {
    const state = name === "nap" ? "is parked" : "another process works on";
    test.inMemory(`work that ${state} and that is ended by ${by} is told in the log and the ledger, once`, async ({ kv }) => {
      const { log, events, logger } = recordLog();
      const told = () => events.filter(({ message }) => message === "Task");
      let taskId: string;
      {
        await using first = await startOAuthServer({ tools, kv, log });
        await using second = await startOAuthServer({ tools, kv, log });
        const client = await Client.register(first);
        const { access_token } = await client.connect();
        const headers = { authorization: `Bearer ${access_token}` };
        const called = first.call("tools/call", { name }, {
          headers,
          capabilities: TASKS,
        });
        taskId = (await resultOf(called)).taskId;
        await until(() => first.app.running === (name === "nap" ? 0 : 1));
        await end(second, taskId, access_token, logger);
        await until(() => first.app.running === 0 && told().length > 0);
      }
      const [{ properties }, ...more] = told();
      assert.deepEqual(more, []);
      assert.equal(properties.reference, taskId);
      assert.equal(properties.tool, name);
      assert.equal(properties.subject, "github:42");
      assert.equal(properties.door, "oauth");
      // The process that works on it may notice first that its grant has ended.
      assert.match(`${properties.outcome}`, /^(cancelled|stopped)$/);
      const [ledger] = await Array.fromAsync(
        kv.list<Json>({ prefix: ["ledger"] }),
      );
      // That of a connection ends with it.
      if (!ledger) return assert.match(by, /connection|operator/);
      const [{ tool, outcome }] = ledger.value.calls;
      assert.deepEqual([tool, outcome], [name, "cancelled"]);
    });
  }
}

test.inMemory("work whose tool is not there any more is told with its name", async ({ kv }) => {
  using time = new MovedTime();
  let taskId: string;
  {
    await using server = await startServer({ tools, kv });
    taskId = await beginTask(server, "nap");
    await until(() => server.app.running === 0);
  }
  const { log, events } = recordLog();
  await using server = await startServer({ tools: [hang], kv, log });
  const isMissed = async () => {
    time.tick(1);
    // Any request wakes it.
    await (await server.fetch("/health")).body?.cancel();
    const run = await kv.get<Json>(["task-run", taskId]);
    return run.value?.missingSince !== undefined;
  };
  time.tick(3600);
  await until(isMissed);
  time.tick(3600);
  await until(async () => !await isMissed());
  const { error } = await reached(server, taskId, "failed");
  assert.match(error.message, /nap is not there any more/);
  const told = () => events.filter(({ message }) => message === "Task");
  await until(() => told().length > 0);
  assert.deepEqual(
    told().map(({ properties }) => [properties.tool, properties.outcome]),
    [["nap", "refused"]],
  );
});
