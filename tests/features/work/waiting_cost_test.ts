/**
 * The cost of durable work that waits for weeks: its reads and its commits. The
 * polls of processes only list, and are the same without work.
 *
 * @module
 */
import assert from "node:assert/strict";
import { testServer } from "../../../packages/testing/mod.ts";
import { Database } from "../../../src/core/kv/database.ts";
import type { ServerInstance } from "../../../src/core/server/server_instance.ts";
import { registryOf } from "../../../src/features/work/feature.ts";
import { wakeStore } from "../../../src/features/work/run_record.ts";
import { type Context, tool } from "../../../src/mod.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { connect, openConnect, startConnected } from "../../kit/connected.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { keyOf, KeyService } from "../../kit/key_service.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { beginTask } from "../../kit/task.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { until } from "../../kit/wait.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;

/** Counts the reads and the commits on a database. */
function countedKv(real: Deno.Kv) {
  const cost = { reads: 0, commits: 0 };
  const read = (name: "get" | "getMany") => {
    const own = real[name].bind(real) as (...args: unknown[]) => unknown;
    return (...args: unknown[]) => {
      cost.reads++;
      return own(...args);
    };
  };
  const kv = kvWith(real, {
    get: read("get"),
    getMany: read("getMany"),
    atomic: atomicWith(real, (commit) => {
      cost.commits++;
      return commit();
    }),
  });
  return { kv, cost };
}

const WAITS: Record<string, (context: Context) => Promise<unknown>> = {
  "a sleep": ({ sleep }) => sleep("nap", 31 * DAY),
  "a webhook": ({ wait }) =>
    wait("paid", {
      message: "Waits for the payment",
      open() {},
      seconds: 31 * DAY,
    }),
  "a page": ({ ask }) =>
    ask({
      key: "paid",
      url: "https://pay.example.com",
      message: "Pay there",
      until: "done",
    }),
};

for (const [name, wait] of Object.entries(WAITS)) {
  test.inMemory(`durable work that waits for ${name} costs nothing in 30 days`, async ({ kv: real }) => {
    const { kv, cost } = countedKv(real);
    let runs = 0;
    const work = tool({
      name: "work",
      task: { durable: true },
      async run(_input, context) {
        runs++;
        await wait(context);
        return "Done";
      },
    });
    await using server = await testServer({ tools: [work], kv });
    await server.startTask(work, {});
    await server.advance(HOUR);
    const before = { runs, ...cost };
    assert(before.commits > 0);
    for (let passed = 0; passed < 30 * DAY; passed += 6 * HOUR) {
      await server.advance(6 * HOUR);
    }
    assert.deepEqual({ runs, ...cost }, before);
    if (name === "a page") return;
    await server.advance(DAY);
    assert.equal(runs, before.runs + 1);
  });
}

test.inMemory("durable work that waits for an account looks for it at most twice a day after two days, each time by three commits", async ({ kv: real }) => {
  using time = new FakeTime();
  // Work that only waits leaves its process at once.
  using _timers = new HastyTimers([200]);
  const { kv, cost } = countedKv(real);
  await using service = new KeyService("ada@acme");
  const linear = service.key();
  let runs = 0;
  const work = tool({
    name: "work",
    needs: { linear },
    task: { durable: true },
    async run(_input, { needs, step, sleep }) {
      runs++;
      const read = async () => (await needs.linear.fetch("/me")).text();
      await step("first", read);
      await sleep("nap", HOUR);
      return await step("second", read);
    },
  });
  await using server = await startConnected(linear, { kv, tools: [work] });
  server.provider.subject = "42";
  const { headers } = await server.person();
  await connect(await openConnect(server), keyOf("ada@acme"));
  const registry = registryOf((server.app as ServerInstance).opened);
  const wakes = wakeStore(new Database(real));
  /** Waits until the work has left its process; gives the time of its wake. */
  const wakeAfter = async (last: number) => {
    let due = last;
    await until(async () => {
      const [wake] = await wakes.all(1);
      if (registry.waitsUntil === Infinity && wake) due = wake.dueSeconds;
      return due > last;
    });
    return due;
  };
  const sender = {
    call: (...[method, params, more]: Parameters<typeof server.call>) =>
      server.call(method, params, { ...more, headers }),
  } as typeof server;
  await beginTask(sender, "work");
  let due = await wakeAfter(0);
  const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
  await visitor.press("/account/accounts/disconnect");
  /** Lets time pass, from one wake to the next. */
  const pass = async (days: number, mostLooks: number) => {
    const last = Date.now() / 1000 + days * DAY;
    const before = { runs, ...cost };
    while (due <= last) {
      await registry.jump(() => time.tick(due - Date.now() / 1000));
      due = await wakeAfter(due);
      assert(runs - before.runs <= mostLooks, `${mostLooks} in ${days} days`);
    }
    const looks = runs - before.runs;
    assert(looks > 0);
    const commits = cost.commits - before.commits;
    assert(commits <= 3 * looks + 5, `${commits} commits in ${looks} looks`);
    const reads = cost.reads - before.reads;
    assert(reads <= 16 * looks + 16, `${reads} reads in ${looks} looks`);
  };
  await pass(2, 16);
  // The person's grant ends after 30 days.
  await pass(27, 54);
});
