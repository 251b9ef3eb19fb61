/** Durable work: steps that survive the process that does them. */
import assert from "node:assert/strict";
import * as z from "zod";
import { service } from "../../../src/authoring/service.ts";
import { tool } from "../../../src/authoring/tool.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { wakeStore } from "../../../src/features/work/run_record.ts";
import { stepFailureStore } from "../../../src/features/work/steps.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime, MovedTime } from "../../kit/fake_time.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { recordLog, silentLogger } from "../../kit/log.ts";
import {
  type ServerOptions,
  startServer,
  type TestServer,
} from "../../kit/server.ts";
import { settled, until } from "../../kit/wait.ts";
import { beginTask, reached, readTask, TASKS } from "../../kit/task.ts";
import { Timers } from "../../kit/timers.ts";

const capabilities = { ...TASKS, elicitation: {} };

const durable = { durable: true } as const;

Deno.test("a durable tool gives its result to clients with tasks and without", async () => {
  const add = tool({
    name: "add",
    task: durable,
    input: z.object({ n: z.int() }),
    async run({ n }, { step }) {
      const one = await step("one", () => n + 1);
      const two = await step("two", () => Promise.resolve(one + 1), {
        retries: 1,
      });
      return `${two}`;
    },
  });
  await using server = await startServer({ tools: [add] });
  const call = { arguments: { n: 1 } };
  const task = await reached(
    server,
    await beginTask(server, "add", call),
    "completed",
  );
  assert.equal(task.result.content[0].text, "3");
  assert.equal(
    await textOf(server.call("tools/call", { name: "add", ...call })),
    "3",
  );
});

Deno.test("a sleep, and the pause before another try, are not a part of a second short", async () => {
  using time = new FakeTime();
  // The last tenth of a second.
  time.tick(1.9 - Date.now() % 1000 / 1000);
  using kv = await Deno.openKv(":memory:");
  const began: Record<string, number> = {};
  const nap = tool({
    name: "nap",
    task: durable,
    async run(_input, { step, sleep }) {
      await step("a", () => void (began.sleep ??= Date.now()));
      await sleep("b", 10);
      const end = Date.now();
      await step("c", () => {
        if (!began.pause) {
          began.pause = Date.now();
          throw new Error("again");
        }
        return Date.now() - began.pause;
      }, { retries: 1 });
      return `${end - began.sleep} ${Date.now() - began.pause}`;
    },
  });
  await using server = await startServer({ tools: [nap], kv });
  const taskId = await beginTask(server, "nap");
  const wakes = wakeStore(new Database(kv));
  await until(async () =>
    (await wakes.all(10)).some(({ dueSeconds }) =>
      dueSeconds * 1000 === began.sleep + 10_000
    )
  );
  time.tick(10);
  void server.app.wake();
  await until(() => began.pause !== undefined);
  time.tick(0.999);
  await readTask(server, taskId);
  time.tick(0.001);
  const { result } = await reached(server, taskId, "completed");
  assert.equal(result.content[0].text, "10000 1000");
});

/** Two servers on one database, as two processes are; the first may stop. */
async function withPair(
  options: ServerOptions,
  run: (pair: {
    first: TestServer;
    second: TestServer;
    stop(): Promise<void>;
  }) => Promise<void>,
  later: ServerOptions = {},
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const first = await startServer({ ...options, kv });
  await using second = await startServer({ ...options, ...later, kv });
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await first[Symbol.asyncDispose]();
  };
  try {
    await run({ first, second, stop });
  } finally {
    await stop();
  }
}

Deno.test("work goes on in another process when its own stops, and does no kept step again", async () => {
  const done: string[] = [];
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const report = tool({
    name: "report",
    task: durable,
    async run(_input, { step, progress }) {
      await progress(1, 3, "first");
      await step("a", () => void done.push("a"));
      await step("b", async () => {
        done.push("b");
        if (done.length === 2) await held;
      }, { retries: 1 });
      await progress(2, 3, "last");
      await step("c", () => void done.push("c"));
      return "end";
    },
  });
  await withPair({ tools: [report] }, async ({ first, second, stop }) => {
    const taskId = await beginTask(first, "report");
    await until(() => done.length === 2);
    await stop();
    // The step that ends late in the process that stopped is not kept.
    release();
    const task = await reached(second, taskId, "completed");
    assert.equal(task.result.content[0].text, "end");
    assert.equal(task.statusMessage, "2 of 3: last");
    assert.deepEqual(done, ["a", "b", "b", "c"]);
  });
});

Deno.test("work whose process stops in a step that may not be repeated fails, and says so", async () => {
  let isBegun = false;
  const pay = tool({
    name: "pay",
    task: durable,
    run: (_input, { step }) =>
      step("pay", () => {
        isBegun = true;
        return new Promise<string>(() => {});
      }),
  });
  await withPair({ tools: [pay] }, async ({ first, second, stop }) => {
    const taskId = await beginTask(first, "pay");
    await until(() => isBegun);
    await stop();
    const { error } = await reached(second, taskId, "failed");
    assert.match(error.message, /^The step "pay" may have happened/);
  });
});

Deno.test("a process that has left work to others begins no step of it, though it does not know yet that it has", async () => {
  using kv = await Deno.openKv(":memory:");
  const answers: (() => void)[] = [];
  let isSlow = false;
  const slowKv = kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      const result = await commit();
      if (isSlow) await new Promise<void>((resolve) => answers.push(resolve));
      return result;
    }),
  });
  let isDone = false;
  const pay = tool({
    name: "pay",
    task: durable,
    async run(_input, { step }) {
      await step("order", () => {});
      isSlow = true;
      await step("pay", () => void (isDone = true));
      return "paid";
    },
  });
  const first = await startServer({ tools: [pay], kv: slowKv });
  await using second = await startServer({ tools: [pay], kv });
  const taskId = await beginTask(first, "pay");
  await until(() => answers.length === 1);
  const stopped = first[Symbol.asyncDispose]();
  const { error } = await reached(second, taskId, "failed");
  assert.match(error.message, /^The step "pay" may have happened/);
  // The step is noted, and the process does not know yet that the work is left.
  answers[0]();
  await settled();
  assert(!isDone);
  isSlow = false;
  for (const answer of answers) answer();
  await stopped;
});

for (const isNoticed of [false, true]) {
  const when = isNoticed ? "after" : "before";
  Deno.test(`work of a process that stood still is another's, though it gives a result ${when} it sees that`, async () => {
    using time = new MovedTime();
    using timers = new Timers();
    const { log, events } = recordLog();
    const signals: AbortSignal[] = [];
    const ends = [1, 2].map(() => Promise.withResolvers<string>());
    const slow = tool({
      name: "slow",
      task: durable,
      run: (_input, { signal }) => ends[signals.push(signal) - 1].promise,
    });
    await withPair({ tools: [slow], log }, async ({ first, second }) => {
      const taskId = await beginTask(first, "slow");
      // No timer fires, and only the second has requests, which let it look.
      await until(async () => {
        time.tick(1);
        await readTask(second, taskId);
        return signals.length === 2;
      });
      if (isNoticed) {
        await timers.beat(5000);
        await until(() => signals[0].aborted);
      }
      ends[0].resolve("of the first");
      await until(() => first.app.running === 0);
      assert(!signals[1].aborted);
      ends[1].resolve("of the second");
      const { result } = await reached(second, taskId, "completed");
      assert.equal(result.content[0].text, "of the second");
      await until(() => second.app.running === 0);
      const told = events.filter(({ message }) => message === "Task");
      assert.deepEqual(told.map(({ properties }) => properties?.outcome), [
        "ok",
      ]);
    });
  });
}

Deno.test("a process that stood still begins no step of work that another has taken over", async () => {
  using time = new MovedTime();
  using _timers = new Timers();
  const goOn = [1, 2].map(() => Promise.withResolvers<void>());
  const signals: AbortSignal[] = [];
  const begun: number[] = [];
  const slow = tool({
    name: "slow",
    task: durable,
    async run(_input, { step, signal }) {
      const run = signals.push(signal);
      await step("a", () => {});
      await goOn[run - 1].promise;
      await step("b", () => void begun.push(run), { retries: 1 });
      return `of run ${run}`;
    },
  });
  await withPair({ tools: [slow] }, async ({ first, second }) => {
    const taskId = await beginTask(first, "slow");
    await until(async () => {
      time.tick(1);
      await readTask(second, taskId);
      return signals.length === 2;
    });
    goOn[0].resolve();
    await until(() => first.app.running === 0);
    assert.deepEqual(begun, []);
    goOn[1].resolve();
    const { result } = await reached(second, taskId, "completed");
    assert.equal(result.content[0].text, "of run 2");
    assert.deepEqual(begun, [2]);
  });
});

Deno.test("work that sleeps tells its client until when, and no more once it has woken", async () => {
  using time = new MovedTime();
  const { promise: held, resolve: release } = Promise.withResolvers<string>();
  const nap = tool({
    name: "nap",
    task: durable,
    async run(_input, { progress, sleep }) {
      await progress(1, 2, "brewed");
      await sleep("cool", 3600);
      return await held;
    },
  });
  await withPair({ tools: [nap] }, async ({ first, second }) => {
    const before = Math.floor(Date.now() / 1000);
    const taskId = await beginTask(first, "nap");
    const message = async (): Promise<string> =>
      (await readTask(second, taskId)).statusMessage ?? "";
    await until(async () => (await message()).startsWith("Sleeps"));
    const [, end] = /^Sleeps until (\S+Z): 1 of 2: brewed$/.exec(
      await message(),
    )!;
    const seconds = Date.parse(end) / 1000 - before;
    assert(seconds >= 3600 && seconds < 3660, end);
    time.tick(3660);
    await until(async () => await message() === "1 of 2: brewed");
    release("cold");
    const { result } = await reached(second, taskId, "completed");
    assert.equal(result.content[0].text, "cold");
  });
});

Deno.test("durable work that has failed does no further step, and stops the one at work", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const done: string[] = [];
  const both = tool({
    name: "both",
    task: durable,
    async run(_input, { step }) {
      await Promise.all([
        step("endless", ({ signal }) => {
          signal.addEventListener("abort", () => void done.push("stopped"));
          return new Promise(() => {});
        }, { retries: 1 }),
        held.then(() =>
          step("later", () => void done.push("later"), { retries: 1 })
        ),
        step("broken", () => {
          throw new Error("no");
        }),
      ]);
      return "end";
    },
  });
  await using server = await startServer({ tools: [both] });
  const taskId = await beginTask(server, "both");
  await reached(server, taskId, "failed");
  release();
  await until(() => server.app.running === 0);
  await settled();
  assert.deepEqual(done, ["stopped"]);
});

Deno.test("durable work that does not wait for a step fails", async () => {
  const { log, events } = recordLog("error");
  const hasty = tool({
    name: "hasty",
    task: durable,
    run(_input, { step }) {
      void step("mail", () => new Promise(() => {}), { retries: 1 });
      return "sent";
    },
  });
  await using server = await startServer({ tools: [hasty], log });
  await reached(server, await beginTask(server, "hasty"), "failed");
  assert.match(`${events[0].properties?.error}`, /"mail" was not awaited/);
});

const meet = tool({
  name: "meet",
  task: durable,
  async run(_input, { ask, step }) {
    const schema = z.object({ name: z.string() });
    const who = await ask({ message: "Who?", schema, key: "who" });
    const name = who.action === "accept" ? who.content.name : "no one";
    return await step("greet", () => `Hello, ${name}!`);
  },
});

Deno.test("a question survives the process that asked it, and has one key", async () => {
  await withPair({ tools: [meet] }, async ({ first, second, stop }) => {
    const taskId = await beginTask(first, "meet");
    const { inputRequests } = await reached(first, taskId, "input_required");
    assert.deepEqual(Object.keys(inputRequests), ["who"]);
    await stop();
    const again = await readTask(second, taskId);
    assert.deepEqual(again.inputRequests, inputRequests);
    const content = { name: "Ada" };
    await resultOf(second.call("tasks/update", {
      taskId,
      inputResponses: { who: { action: "accept", content } },
    }, { capabilities }));
    const { result } = await reached(second, taskId, "completed");
    assert.equal(result.content[0].text, "Hello, Ada!");
  });
});

Deno.test("durable work that waits is in no process, tells its last word, and its client can cancel it", async () => {
  const nap = tool({
    name: "nap",
    task: durable,
    async run(_input, { sleep, progress }) {
      await progress(1, 3, "begun");
      await progress(2, 3, "goes to sleep");
      await sleep("nap", 3600);
      return "woken";
    },
  });
  const { log, events } = recordLog("warning");
  await using server = await startServer({ tools: [nap], log });
  const taskId = await beginTask(server, "nap");
  await until(() => server.app.running === 0);
  const task = await readTask(server, taskId);
  assert.equal(task.status, "working");
  assert.match(task.statusMessage, /^Sleeps until \S+: 2 of 3: goes to sleep$/);
  await resultOf(server.call("tasks/cancel", { taskId }, { capabilities }));
  const cancelled = await readTask(server, taskId);
  assert.equal(cancelled.status, "cancelled");
  assert.equal(cancelled.statusMessage, "2 of 3: goes to sleep");
  assert.deepEqual(events, []);
});

Deno.test("work meets the tool of a new release: its input is parsed again", async () => {
  let isBegun = false;
  const of = (n: z.ZodType) =>
    tool({
      name: "count",
      task: durable,
      input: z.object({ n }),
      run: (_input, { step }) =>
        step("count", () => {
          isBegun = true;
          return new Promise<string>(() => {});
        }, { retries: 1 }),
    });
  await withPair({ tools: [of(z.int())] }, async ({ first, second, stop }) => {
    const taskId = await beginTask(first, "count", { arguments: { n: 1 } });
    await until(() => isBegun);
    await stop();
    const { result } = await reached(second, taskId, "completed");
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /expected string/);
  }, { tools: [of(z.string())] });
});

Deno.test("work whose tool has changed fails, and the log has both steps", async () => {
  const { log, events } = recordLog("error");
  let isBegun = false;
  const of = (...ids: string[]) =>
    tool({
      name: "steps",
      task: durable,
      async run(_input, { step }) {
        for (const id of ids) await step(id, () => id, { retries: 1 });
        return await step("end", () => {
          isBegun = true;
          return new Promise<string>(() => {});
        }, { retries: 1 });
      },
    });
  await withPair(
    { tools: [of("a", "b")] },
    async ({ first, second, stop }) => {
      const taskId = await beginTask(first, "steps");
      await until(() => isBegun);
      await stop();
      const { error } = await reached(second, taskId, "failed");
      assert.match(error.message, /^The tool has changed since this work/);
      const [{ properties }] = events;
      assert.match(`${properties?.error}`, /step "b", and the step "x"/);
    },
    { tools: [of("a", "x")], log },
  );
});

Deno.test("wake() starts the services of a process that has had no request", async () => {
  let tries = 0;
  const name = service({ name: "name", start: () => "Ada" });
  const greet = tool({
    name: "greet",
    task: durable,
    services: { name },
    async run(_input, { step, services }) {
      await step("hang", async () => {
        if (++tries === 1) await new Promise(() => {});
      }, { retries: 1 });
      return `Hello, ${services.name}`;
    },
  });
  await withPair({ tools: [greet] }, async ({ first, second, stop }) => {
    const taskId = await beginTask(first, "greet");
    await until(() => tries === 1);
    await stop();
    await second.app.wake();
    const { result } = await reached(second, taskId, "completed");
    assert.equal(result.content[0].text, "Hello, Ada");
    await reached(second, await beginTask(second, "greet"), "completed");
  });
});

Deno.test("wake() of a server that stops starts nothing", async () => {
  let starts = 0;
  const once = service({ name: "once", start: () => void starts++ });
  const quiet = tool({ name: "quiet", services: { once }, run: () => "" });
  await using server = await startServer({ tools: [quiet] });
  server.app.stop();
  await server.app.wake();
  assert.equal(starts, 0);
});

Deno.test("work whose tool a process does not know stays for those who do", async () => {
  let isBegun = false;
  const only = tool({
    name: "only",
    task: durable,
    run: (_input, { step }) =>
      step("a", () => {
        isBegun = true;
        return new Promise<string>(() => {});
      }, { retries: 1 }),
  });
  await withPair({ tools: [only] }, async ({ first, second, stop }) => {
    const taskId = await beginTask(first, "only");
    await until(() => isBegun);
    await stop();
    await second.app.wake();
    assert.equal((await readTask(second, taskId)).status, "working");
    assert.equal(second.app.running, 0);
  }, { tools: [meet] });
});

test.inMemory("failures of steps are counted, for operators", async ({ kv }) => {
  const weather = tool({
    name: "weather",
    task: durable,
    async run(_input, { step }) {
      await step("sun", () => "shines");
      return await step("rain", (): string => {
        throw new Error("no rain");
      }).catch(() => "dry");
    },
  });
  const server = await startServer({ tools: [weather], kv });
  await reached(server, await beginTask(server, "weather"), "completed");
  await server[Symbol.asyncDispose]();
  const failures = stepFailureStore(new Database(kv), silentLogger);
  const counted = (await failures.list())
    .map(({ tool, step, count }) => [tool, step, count]);
  assert.deepEqual(counted, [["weather", "rain", 1]]);
});

test.inMemory("durable work keeps no long text that its tool never looks at", async ({ kv }) => {
  const later = tool({
    name: "later",
    task: durable,
    input: z.object({ n: z.int() }),
    run: async (_input, { sleep }) => {
      await sleep("for weeks", 80 * 24 * 3600);
      return "done";
    },
  });
  await using server = await startServer({ tools: [later], kv });
  const response = await server.call("tools/call", {
    name: "later",
    arguments: { n: 1, note: "a".repeat(3_000_000) },
  }, { capabilities });
  assert.equal(response.status, 413);
  assert.match(await response.text(), /must have at most 262144 char/);
  const kept = await Array.fromAsync(kv.list({ prefix: ["text"] }));
  assert.deepEqual(kept, []);
});
