/** Waits of durable work, answered through a route of the author's. */
import assert from "node:assert/strict";
import type { Hono } from "@hono/hono";
import { tool } from "../../../src/authoring/tool.ts";
import type { RoutesContext } from "../../../src/core/server/server_options.ts";
import type { WaitOptions } from "../../../src/authoring/durable.ts";
import { ANONYMOUS } from "../../../src/core/caller.ts";
import { stateOf as printState } from "../../../src/features/work/task_answer.ts";
import { waitForWebhook } from "../../../src/features/work/webhook_wait.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { waitKey } from "../../../src/core/kv/keys.ts";
import { checkLayout } from "../../../src/core/kv/layout.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { MAX_WAIT_BYTES } from "../../../src/features/questions/wait_record.ts";
import { listOfWaits } from "../../../src/features/work/run_record.ts";
import {
  MAX_WAITS_PER_PERSON,
  type Wait,
  waitStore,
} from "../../../src/features/questions/waits.ts";
import { MANY_FACTOR } from "../../../src/core/mcp/exchange/limits.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { resultOf } from "../../kit/answer.ts";
import type { Json } from "../../kit/message.ts";
import { startServer, type TestServer } from "../../kit/server.ts";
import { kvThrough } from "../../kit/kv.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { settled, until, within } from "../../kit/wait.ts";

/** Steps that outlive a run, as a store keeps them. */
class KeptSteps {
  readonly kept = new Map<string, string>();
  /** The step in which the process dies once it has done its work. */
  diesIn?: string;
  deaths = 0;
  /** The ends of the sleeps that were asked for, in epoch milliseconds. */
  readonly ends: number[] = [];
  /** The sleeps that have not ended. */
  asleep = 0;
  /** Ends the sleeps of this process. */
  wake = () => {};

  /** One run. */
  run(): Parameters<typeof waitForWebhook>[0] {
    return {
      repeatableStep: async (id, work) => {
        const known = this.kept.get(id);
        if (known !== undefined) return JSON.parse(known).value;
        const { signal } = new AbortController();
        const value = await work({ once: id, attempt: 1, signal });
        if (this.diesIn === id) {
          this.deaths++;
          return await new Promise(() => {});
        }
        this.kept.set(id, JSON.stringify({ value }));
        return value;
      },
      hasKept: (id) => this.kept.has(id),
      sleep: (_id, until, { enough } = {}) =>
        new Promise((resolve) => {
          this.ends.push(Number(until));
          if (Number(until) <= Date.now() || enough?.aborted) return resolve();
          this.asleep++;
          this.wake = () => {
            this.asleep--;
            resolve();
          };
          enough?.addEventListener("abort", this.wake);
        }),
    };
  }
}

/** Work that waits in one task, over several runs. */
function workOn(kv: Deno.Kv, taskId = "t1", isMany = true) {
  const steps = new KeptSteps();
  const tokens: string[] = [];
  /** Ends the waiting for a place. */
  const room = Promise.withResolvers<void>();
  const database = new Database(kv);
  const waits = waitStore(database);
  const begun = taskStore(database).createDurable(
    taskId,
    { tool: "pay", scopes: [], keep: 60, caller: ANONYMOUS, address: "" },
    {
      input: {},
      client: { capabilities: {}, revision: "2026-07-28" },
      meta: {},
    },
    ANONYMOUS.binding,
  );
  const run = async (
    id = "paid",
    options: Partial<WaitOptions> = {},
    network = "network 1",
  ) => {
    await begun;
    return await waitForWebhook(
      steps.run(),
      {
        waits,
        taskId,
        address: "",
        tool: "pay",
        caller: ANONYMOUS,
        limitKey: { name: isMany ? network : "jo", isMany },
        signal: new AbortController().signal,
        parking: {
          activity: (work) => work(),
          wait: (_waiting, work) => work(),
          waitUntil: () => room.promise,
          againSeconds: 60,
          now: () => 0,
        },
      },
      id,
      {
        message: "Waits for the payment",
        open: (token) => void tokens.push(token),
        seconds: 7200,
        ...options,
      },
    );
  };
  return { steps, tokens, waits, room, run };
}

/** A server whose webhook answers. */
async function hooksOn(kv: Deno.Kv) {
  // As at the start of a process: work writes records before any request.
  await checkLayout(kv);
  return await startServer({
    kv,
    routes(app, { answer }) {
      app.post("/paid/:token", async (c) => {
        const isTaken = await answer(c.req.param("token"), await c.req.json());
        return c.body(null, isTaken ? 204 : 404);
      });
    },
  });
}

test.inMemory("wait() of one network leaves room to another", async ({ kv }) => {
  const [full, other] = ["t1", "t2"].map((id) => workOn(kv, id));
  const limitKey = { name: "network 1", isMany: true };
  const list = listOfWaits({ caller: ANONYMOUS, limitKey });
  const asked = { subject: "anonymous", list, kind: "webhook" } as const;
  for (let n = 0; n < MAX_WAITS_PER_PERSON * MANY_FACTOR; n++) {
    const asker = `${n}`;
    const waiting = { ...asked, asker, question: "paid", tool: "pay" };
    await full.waits.open(waiting, {}, { most: Infinity });
  }
  full.run();
  await settled();
  assert.deepEqual(full.tokens, []);
  const paid = other.run("paid", {}, "network 2");
  await until(() => other.tokens.length === 1);
  await other.waits.answerWebhook(other.tokens[0], true);
  assert.equal(await paid, true);
});

test.inMemory("wait() gives what the first webhook says, as data, and no other is taken", async ({ kv }) => {
  await using server = await hooksOn(kv);
  const { run, tokens, waits } = workOn(kv);
  const paid = run();
  await until(() => tokens.length === 1);
  assert.match(tokens[0], /^[\w-]{43}$/);
  const post = async (token: string, data: unknown) => {
    const { status } = await server.fetch(`/paid/${token}`, {
      method: "POST",
      body: JSON.stringify(data),
    });
    return status;
  };
  assert.equal(await post("a".repeat(43), { paid: false }), 404);
  const data = { paid: true, __proto__: { x: 1 }, constructor: "c" };
  const answers = await Promise.all([
    post(tokens[0], data),
    post(tokens[0], data),
  ]);
  assert.deepEqual(answers.sort(), [204, 404]);
  assert.deepEqual(await paid, JSON.parse(JSON.stringify(data)));
  assert.equal(await post(tokens[0], data), 404);
  // Nothing of it is left.
  assert.deepEqual(await waits.listKept(ANONYMOUS.subject), []);
});

test.inMemory("wait() refuses an answer that is too long, and waits on", async ({ kv }) => {
  await using server = await hooksOn(kv);
  const { run, tokens, waits } = workOn(kv);
  const paid = run();
  await until(() => tokens.length === 1);
  const { status } = await server.fetch(`/paid/${tokens[0]}`, {
    method: "POST",
    body: JSON.stringify("a".repeat(MAX_WAIT_BYTES)),
  });
  assert.equal(status, 413);
  await assert.rejects(waits.answerWebhook(tokens[0], undefined), TypeError);
  await waits.answerWebhook(tokens[0], null);
  assert.equal(await paid, null);
});

test.inMemory("wait() finds the answer that came while no process ran, with the same token", async ({ kv }) => {
  using time = new FakeTime();
  const { run, tokens, steps, waits } = workOn(kv);
  // A process that dies before it has kept that the checkout is open.
  steps.diesIn = "wait paid: open";
  run();
  await until(() => tokens.length === 1);
  steps.diesIn = "wait paid: end";
  run();
  await until(() => tokens.length === 2);
  assert.equal(tokens[1], tokens[0]);
  assert.equal(await waits.answerWebhook(tokens[0], { n: 1 }), true);
  // It dies again, and the time is over before anyone goes on.
  await until(() => steps.deaths === 2);
  time.tick(7200 * 3);
  steps.diesIn = undefined;
  assert.deepEqual(await run(), { n: 1 });
  // Another replay has it from its steps.
  assert.deepEqual(await run(), { n: 1 });
  assert.equal(tokens.length, 2);
});

test.inMemory("wait() gives its word at once to a later run, and lets its sleep end", async ({ kv }) => {
  const { steps, tokens, waits, run } = workOn(kv);
  const first = run();
  await until(() => tokens.length === 1);
  await waits.answerWebhook(tokens[0], { euros: 5 });
  assert.deepEqual(await first, { euros: 5 });
  assert.equal(steps.asleep, 0);
  assert.deepEqual(await within(10, run()), { euros: 5 });
  assert.equal(tokens.length, 1);
});

test.inMemory("wait() gives undefined when its time is over, and what comes later is not taken", async ({ kv }) => {
  using time = new FakeTime();
  const { run, tokens, steps, waits } = workOn(kv);
  const paid = run();
  await until(() => steps.kept.size === 1);
  time.tick(7200);
  steps.wake();
  assert.equal(await paid, undefined);
  assert.equal(await waits.answerWebhook(tokens[0], { late: true }), false);
  assert.equal(await run(), undefined);
});

test.inMemory("wait() gives undefined when its time was over while no process ran", async ({ kv }) => {
  using time = new FakeTime();
  const { run, steps } = workOn(kv);
  steps.diesIn = "wait paid: end";
  run();
  await until(() => steps.asleep === 1);
  time.tick(7200 * 3);
  steps.wake();
  await until(() => steps.deaths === 1);
  steps.diesIn = undefined;
  assert.equal(await run(), undefined);
});

test.inMemory("wait() takes no wait that is gone for a time that is over", async ({ kv }) => {
  using time = new FakeTime();
  const { run, tokens, steps, waits } = workOn(kv);
  let isOver = false;
  const paid = run().finally(() => isOver = true);
  await until(() => steps.asleep === 1);
  await waits.withdraw({ key: waitKey(tokens[0]) } as unknown as Wait);
  for (let seconds = 0; seconds < 10; seconds++) {
    time.tick(1);
    await settled();
  }
  assert.equal(isOver, false);
  time.tick(7200);
  steps.wake();
  assert.equal(await paid, undefined);
});

test.inMemory("wait() ends with its sleep, though nothing else tells it", async ({ kv }) => {
  const { run, steps } = workOn(kv);
  const paid = run();
  await until(() => steps.asleep === 1);
  steps.wake();
  assert.equal(await within(10, paid), undefined);
});

test.inMemory("wait() does not open again what was answered before its process died", async ({ kv }) => {
  const { run, tokens, steps, waits } = workOn(kv);
  steps.diesIn = "wait paid: open";
  run();
  await until(() => steps.deaths === 1);
  await waits.answerWebhook(tokens[0], 1);
  steps.diesIn = undefined;
  assert.equal(await run(), 1);
  assert.equal(tokens.length, 1);
  // Its answer stays for 90 days: a sleep until then would outlast the task.
  const [end] = steps.ends;
  assert(end <= Date.now(), `it sleeps until ${new Date(end).toISOString()}`);
});

test.inMemory("wait() keeps two waits of a task, and two tasks, apart", async ({ kv }) => {
  const { run, tokens, waits } = workOn(kv);
  const both = Promise.all([run("one"), run("two")]);
  await until(() => tokens.length === 2);
  const [one, two] = tokens;
  await waits.answerWebhook(two, 2);
  await waits.answerWebhook(one, 1);
  assert.deepEqual((await both).toSorted(), [1, 2]);
  const tasks = ["t2", "t3"].map((taskId) => workOn(kv, taskId));
  const paid = Promise.all(tasks.map(({ run }) => run()));
  await until(() => tasks.every(({ tokens }) => tokens.length === 1));
  for (const [n, { tokens }] of tasks.entries()) {
    await waits.answerWebhook(tokens[0], n);
  }
  assert.deepEqual(await paid, [0, 1]);
});

test.inMemory("wait() has a hundred places for a person, and more for many people", async ({ kv }) => {
  const { waits, run, tokens } = workOn(kv);
  const { subject } = ANONYMOUS;
  const other = {
    subject,
    kind: "webhook",
    question: "q",
    tool: "pay",
  } as const;
  let first: Wait | undefined;
  for (let n = 0; n < 100; n++) {
    const payload = { message: "Waits" };
    const wait = await waits.open({ ...other, asker: `${n}` }, payload);
    first ??= wait;
  }
  const late = workOn(kv, "t2", false);
  const waiting = late.run();
  await settled();
  assert.deepEqual([late.tokens, late.steps.kept.size], [[], 0]);
  await waits.withdraw(first!);
  late.room.resolve();
  await until(() => late.tokens.length === 1);
  await waits.answerWebhook(late.tokens[0], "late");
  assert.equal(await waiting, "late");
  const paid = run();
  await until(() => tokens.length === 1);
  await waits.answerWebhook(tokens[0], "paid");
  assert.equal(await paid, "paid");
});

test.inMemory("no page shows the wait for a webhook, and no token answers a page", async ({ kv }) => {
  const { run, tokens, waits } = workOn(kv);
  const paid = run();
  await until(() => tokens.length === 1);
  const { subject } = ANONYMOUS;
  assert.equal(await waits.find(tokens[0], subject), undefined);
  assert.deepEqual(await waits.listOf(subject), []);
  await waits.answerWebhook(tokens[0], "paid");
  assert.equal(await paid, "paid");
});

/** Durable work that waits for a payment, and its webhook. */
function paying(tokens: string[], ends: string[] = []) {
  const pay = tool({
    name: "pay",
    task: { durable: true },
    async run(_input, { wait }) {
      try {
        const told = await wait("paid", {
          message: "Waits for the payment",
          open: (token) => void tokens.push(token),
          seconds: 7200,
        });
        return JSON.stringify(told ?? "over");
      } finally {
        ends.push("finally");
      }
    },
  });
  return {
    tools: [pay],
    routes(app: Hono, { answer }: RoutesContext) {
      app.post("/paid/:token", async (c) => {
        const data = await c.req.json();
        const isTaken = await answer(c.req.param("token"), data);
        return c.body(null, isTaken ? 204 : 404);
      });
    },
  };
}

const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

async function taskOf(server: TestServer, taskId: string): Promise<Json> {
  return await resultOf(server.call("tasks/get", { taskId }, { capabilities }));
}

test.inMemory("a webhook at another process ends the wait of a task that no process holds any more", async ({ kv }) => {
  const tokens: string[] = [];
  const ends: string[] = [];
  const first = await startServer({ ...paying(tokens, ends), kv });
  await using second = await startServer({ ...paying(tokens), kv });
  const { taskId } = await resultOf(
    first.call("tools/call", { name: "pay" }, { capabilities }),
  );
  await until(async () =>
    (await taskOf(first, taskId)).statusMessage === "Waits for the payment"
  );
  await until(() => first.app.running === 0);
  await first[Symbol.asyncDispose]();
  // The run that left its process learned nothing of that.
  assert.deepEqual(ends, []);
  const { status } = await second.fetch(`/paid/${tokens[0]}`, {
    method: "POST",
    body: JSON.stringify({ amount: 5 }),
  });
  assert.equal(status, 204);
  let task: Json = {};
  await until(async () => {
    task = await taskOf(second, taskId);
    return task.status === "completed";
  });
  assert.equal(task.result.content[0].text, '{"amount":5}');
  assert.equal(tokens.length, 1);
});

test.inMemory("the end of a wait leaves the message of another that is still open", async ({ kv }) => {
  const tokens = new Map<string, string>();
  const both = tool({
    name: "both",
    task: { durable: true },
    async run(_input, { wait }) {
      const told = await Promise.all(["A", "B"].map((message) =>
        wait(message, {
          message,
          open: (token) => void tokens.set(message, token),
          seconds: 7200,
        })
      ));
      return told.join();
    },
  });
  const options = { ...paying([]), tools: [both] };
  const first = await startServer({ ...options, kv });
  await using second = await startServer({ ...options, kv });
  const { taskId } = await resultOf(
    first.call("tools/call", { name: "both" }, { capabilities }),
  );
  await until(() => tokens.size === 2);
  await until(() => first.app.running === 0);
  const { statusMessage: latest } = await taskOf(first, taskId);
  await first[Symbol.asyncDispose]();
  // Another process, which opened neither of them, goes on.
  const answer = async (message: string) => {
    const body = JSON.stringify(message);
    await second.fetch(`/paid/${tokens.get(message)}`, {
      method: "POST",
      body,
    });
  };
  await answer(latest);
  const other = latest === "A" ? "B" : "A";
  let task: Json = {};
  await until(async () => {
    task = await taskOf(second, taskId);
    return task.statusMessage === other;
  });
  await answer(other);
  await until(async () => {
    task = await taskOf(second, taskId);
    return task.status === "completed";
  });
  assert.equal(task.result.content[0].text, "A,B");
  assert.equal(task.statusMessage, undefined);
});

test.inMemory("the status tells of a sleep once no wait is open any more", async ({ kv }) => {
  const tokens = new Map<string, string>();
  const hasty = tool({
    name: "hasty",
    task: { durable: true },
    async run(_input, { wait, sleep }) {
      const waited = (id: string) =>
        wait(id, {
          message: `waits for ${id}`,
          open: (token) => void tokens.set(id, token),
          seconds: 7200,
        });
      const day = sleep("day", 24 * 3600);
      await Promise.race([day, waited("w0")]);
      await waited("w1");
      await day;
      return "over";
    },
  });
  const options = { ...paying([]), tools: [hasty] };
  const first = await startServer({ ...options, kv });
  await using second = await startServer({ ...options, kv });
  const { taskId } = await resultOf(
    first.call("tools/call", { name: "hasty" }, { capabilities }),
  );
  await until(() => tokens.has("w0"));
  await until(() => first.app.running === 0);
  const message = async () => (await taskOf(second, taskId)).statusMessage;
  assert.equal(await message(), "waits for w0");
  await first[Symbol.asyncDispose]();
  const answer = async (id: string) => {
    const path = `/paid/${tokens.get(id)}`;
    await second.fetch(path, { method: "POST", body: "1" });
  };
  await answer("w0");
  await until(() => tokens.has("w1"));
  await until(() => second.app.running === 0);
  assert.equal(await message(), "waits for w1");
  await answer("w1");
  await until(async () => /^Sleeps until \S+Z$/.test(await message()));
});

test.inMemory("work that waits is told as such, with its progress again once it goes on", async ({ kv }) => {
  const tokens: string[] = [];
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const slow = tool({
    name: "slow",
    task: { durable: true },
    async run(_input, { wait, step, progress }) {
      await progress(1, 2, "asks");
      const message = "Waits for the payment";
      const open = (token: string) => void tokens.push(token);
      await wait("paid", { message, open, seconds: 7200 });
      await step("slow", () => held);
      return "over";
    },
  });
  await using server = await startServer({ ...paying([]), tools: [slow], kv });
  const { taskId } = await resultOf(
    server.call("tools/call", { name: "slow" }, { capabilities }),
  );
  const message = async () => (await taskOf(server, taskId)).statusMessage;
  const stateOf = async () => {
    const [owner] = await Array.fromAsync(kv.list<Json>({ prefix: ["task"] }));
    return printState(
      (await taskStore(new Database(kv)).find(taskId, owner.value.binding))!,
    );
  };
  await until(async () => await message() === "Waits for the payment");
  await until(() => server.app.running === 0);
  assert.equal(await stateOf(), "The tool waits: Waits for the payment.");
  await server.fetch(`/paid/${tokens[0]}`, { method: "POST", body: "1" });
  await until(async () => await message() === "1 of 2: asks");
  assert.equal(await stateOf(), "The tool still runs: 1 of 2: asks.");
  release();
  await until(async () =>
    (await taskOf(server, taskId)).status === "completed"
  );
});

test.inMemory("no wait for a slow database lets the process be left for another sleep", async ({ kv }) => {
  // A process is left as soon as nothing seems to happen in it.
  using _timers = new HastyTimers([200]);
  const slowKv = kvThrough(kv, async (operation) => {
    await settled();
    return await operation();
  });
  const tokens: string[] = [];
  let runs = 0;
  const hasty = tool({
    name: "hasty",
    task: { durable: true },
    async run(_input, { wait, sleep, step, progress }) {
      runs++;
      void sleep("day", 24 * 3600);
      await wait("paid", {
        message: "Waits for the payment",
        open: (token) => void tokens.push(token),
        seconds: 7200,
      });
      await progress(1, 2);
      await step("next", () => {});
      return "over";
    },
  });
  await using server = await startServer({
    ...paying([]),
    tools: [hasty],
    kv: slowKv,
  });
  const { taskId } = await resultOf(
    server.call("tools/call", { name: "hasty" }, { capabilities }),
  );
  await until(() => tokens.length === 1 && server.app.running === 0);
  const { statusMessage } = await taskOf(server, taskId);
  assert.equal(statusMessage, "Waits for the payment");
  await server.fetch(`/paid/${tokens[0]}`, { method: "POST", body: "1" });
  await until(async () =>
    (await taskOf(server, taskId)).status === "completed"
  );
  assert.equal(runs, 2);
});

test.inMemory("a webhook that comes at once finds the task at work", async ({ kv }) => {
  const tokens: string[] = [];
  await using server = await startServer({ ...paying(tokens), kv });
  const { taskId } = await resultOf(
    server.call("tools/call", { name: "pay" }, { capabilities }),
  );
  await until(() => tokens.length === 1);
  await server.fetch(`/paid/${tokens[0]}`, { method: "POST", body: "1" });
  let task: Json = {};
  await until(async () => {
    task = await taskOf(server, taskId);
    return task.status === "completed";
  });
  assert.equal(task.result.content[0].text, "1");
});
