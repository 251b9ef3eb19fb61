/** The test kit's durable work: processes that die, and time that is moved. */
import assert from "node:assert/strict";
import * as z from "zod";
import { type LogEvent, service, tool } from "../../../src/mod.ts";
import { until } from "../../../tests/kit/wait.ts";
import { testFile, testServer } from "../mod.ts";

const HOUR = 3600;

/** A tool that writes down what it does outside. */
function postTool(options: { retries?: number; usesOnce?: boolean } = {}) {
  const done: string[] = [];
  const onces: string[] = [];
  const { retries, usesOnce } = options;
  const post = tool({
    name: "post",
    input: z.object({ text: z.string() }),
    task: { durable: true },
    async run({ text }, { step, sleep, ask, progress }) {
      done.push("run");
      await progress(1, 3);
      const draft = await step("draft", () => {
        done.push("draft");
        return text.trim();
      });
      await progress(2, 3);
      await sleep("night", 8 * HOUR);
      const { action } = await ask({
        key: "sure",
        message: `Post ${draft}?`,
        schema: z.object({ sure: z.boolean() }),
      });
      if (action !== "accept") return "Kept.";
      await step("post", (context) => {
        done.push("post");
        if (usesOnce) onces.push(context.once);
      }, { retries });
      await progress(3, 3);
      return `Posted ${draft}`;
    },
  });
  return { post, done, onces };
}

const answers = [{ action: "accept", content: { sure: true } }] as const;
const input = { text: " tea " };

Deno.test("advance() passes a sleep without waiting, and the task asks what comes after it", async () => {
  const { post, done } = postTool();
  await using server = await testServer({ tools: [post] });
  const task = await server.startTask(post, input, { answers });
  await server.advance(8 * HOUR - 10);
  assert.equal((await task.status()).status, "working");
  await server.advance(10);
  assert.equal((await task.status()).status, "input_required");
  const { text, progress, questions } = await task.result();
  assert.equal(text, "Posted tea");
  assert.deepEqual(progress.map(({ progress }) => progress), [1, 2, 3]);
  assert.equal(questions[0].message, "Post tea?");
  // The code outside of the steps has run again.
  assert.deepEqual(done.filter((what) => what !== "run"), ["draft", "post"]);
  assert(done.filter((what) => what === "run").length > 1);
});

Deno.test("crash() lets another process take the work over, which does no kept step again", async () => {
  const { post, done } = postTool();
  const events: LogEvent[] = [];
  const log = { write: (event: LogEvent) => events.push(event) };
  await using server = await testServer({ tools: [post], log });
  const task = await server.startTask(post, input, { answers });
  await task.crash();
  await task.crash({ after: "draft" });
  await server.advance(8 * HOUR);
  await task.crash({ after: "sure" });
  assert.equal((await task.result()).text, "Posted tea");
  assert.deepEqual(done.filter((what) => what !== "run"), ["draft", "post"]);
  // Not of the sleep, after which the work goes on too.
  assert.deepEqual(
    events.filter(({ message }) => message.includes("dead process"))
      .map(({ level, message, properties }) => ({
        level,
        message,
        properties,
      })),
    Array(3).fill({
      level: "info",
      message: "Durable work of a dead process goes on in this one",
      properties: { reference: task.taskId, tool: "post", deaths: 1 },
    }),
  );
});

Deno.test("crash() after a question ends, wherever that question is", async () => {
  const buy = tool({
    name: "buy",
    task: { durable: true },
    async run(_input, { ask }) {
      const schema = z.object({ sure: z.boolean() });
      return (await ask({ key: "sure", message: "Buy?", schema })).action;
    },
  });
  await using server = await testServer({ tools: [buy] });
  const task = await server.startTask(buy, {}, { answers });
  await task.crash({ after: "sure" });
  assert.equal((await task.result()).text, "accept");
});

Deno.test("crash() in a step fails the task, which may have happened", async () => {
  const { post, done } = postTool();
  await using server = await testServer({ tools: [post] });
  const task = await server.startTask(post, input, { answers });
  await task.crash({ in: "draft" });
  await assert.rejects(
    task.result(),
    /The step "draft" may have happened: its process has stopped in it/,
  );
  assert.deepEqual(done, ["run", "draft", "run"]);
});

Deno.test("progress that another process has passed is not sent again", async () => {
  let tries = 0;
  const read = tool({
    name: "read",
    task: { durable: true },
    async run(_input, { step, progress, ask }) {
      await step("read", async () => {
        tries++;
        if (tries === 1) await progress(5, 9, "of the first");
        else await progress(1, 9, "of the second");
      }, { retries: 1 });
      await ask({ message: "On?", schema: z.object({}) });
      await progress(6, 9, "on");
      return "read";
    },
  });
  await using server = await testServer({ tools: [read] });
  const task = await server.startTask(read, {}, {
    answers: [{ action: "accept", content: {} }],
  });
  await task.crash({ in: "read" });
  await until(async () => (await task.status()).status === "input_required");
  const { statusMessage } = await task.status();
  assert.match(statusMessage!, /5 of 9: of the first/);
  const { progress } = await task.result();
  assert.deepEqual(progress.map(({ progress }) => progress), [5, 6]);
});

Deno.test("crash() in a step with once repeats it with the same text", async () => {
  const { post, done, onces } = postTool({ usesOnce: true });
  await using server = await testServer({ tools: [post] });
  const task = await server.startTask(post, input, { answers });
  await server.advance(9 * HOUR);
  await task.crash({ in: "post" });
  assert.equal((await task.result()).text, "Posted tea");
  assert.equal(done.filter((what) => what === "post").length, 2);
  assert.equal(onces.length, 2);
  assert.equal(onces[0], onces[1]);
});

Deno.test("crash() tells that the work ended without the step", async () => {
  const quick = tool({
    name: "quick",
    task: { durable: true },
    run: (_input, { step }) => step("only", () => "done"),
  });
  await using server = await testServer({ tools: [quick] });
  const task = await server.startTask(quick);
  await assert.rejects(
    task.crash({ after: "other" }),
    /quick did not get to its step "other": it has ended/,
  );
  assert.equal((await task.result()).text, "done");
});

Deno.test("a server may end before its task has begun, or just after a crash", async () => {
  const { post } = postTool();
  for (const crashes of [false, true]) {
    await using server = await testServer({ tools: [post] });
    const task = await server.startTask(post, input);
    if (crashes) await task.crash();
  }
});

Deno.test("advance() passes retries' pauses and sleeps one after another", async () => {
  const tries: number[] = [];
  const slow = tool({
    name: "slow",
    task: { durable: true },
    async run(_input, { step, sleep }) {
      for (let day = 0; day < 3; day++) await sleep(`day ${day}`, 24 * HOUR);
      await step("call", ({ attempt }) => {
        tries.push(attempt);
        if (attempt < 4) throw new Error("busy");
      }, { retries: 5 });
      await sleep("short", 3);
      return "end";
    },
  });
  await using server = await testServer({ tools: [slow] });
  const task = await server.startTask(slow);
  await server.advance(3 * 24 * HOUR + 60);
  assert.deepEqual(tries, [1, 2, 3, 4]);
  assert.equal((await task.status()).status, "completed");
});

Deno.test("advance() ends a wait whose word never came", async () => {
  const pay = tool({
    name: "pay",
    task: { durable: true },
    async run(_input, { wait }) {
      const paid = await wait("paid", {
        message: "Waits for the payment",
        open: () => {},
        seconds: HOUR,
      });
      return paid === undefined ? "Not paid" : "Paid";
    },
  });
  await using server = await testServer({ tools: [pay] });
  const task = await server.startTask(pay);
  await server.advance(HOUR - 5);
  assert.deepEqual(await task.status(), {
    status: "working",
    statusMessage: "Waits for the payment",
  });
  await task.crash();
  assert.equal((await task.result()).text, "Not paid");
});

Deno.test("advance() refuses a time that is none, and tells of a step that is at work", async () => {
  const held = tool({
    name: "held",
    task: { durable: true },
    run: (_input, { step, signal }) =>
      step("hold", () =>
        new Promise<string>((resolve) => {
          signal.addEventListener("abort", () => resolve(""));
        })),
  });
  await using server = await testServer({ tools: [held] });
  await assert.rejects(server.advance(0), RangeError);
  await assert.rejects(server.advance(NaN), RangeError);
  const task = await server.startTask(held);
  await assert.rejects(server.advance(60), /still at work after 5 s/);
  await task.cancel();
  await server.advance(60);
});

Deno.test("upstream after a sleep fails the test with advice", async () => {
  const mail = tool({
    name: "mail",
    task: { durable: true },
    async run(_input, { sleep, upstream }) {
      const first = await (await upstream.fetch("/me")).json();
      await sleep("while", 60);
      return `${first.name}`;
    },
  });
  await using server = await testServer({ tools: [mail] });
  const upstream = { "/me": { name: "Ada" } };
  const task = await server.startTask(mail, {}, { upstream });
  await server.advance(60);
  await assert.rejects(task.result(), /mail: upstream was used after the work/);
});

Deno.test("the dead process does nothing more for its work", async () => {
  const done: string[] = [];
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  let runs = 0;
  const late = tool({
    name: "late",
    task: { durable: true },
    async run(_input, { step, progress }) {
      const run = ++runs;
      await step("first", async () => {
        if (run === 1) await held;
        done.push(`first in ${run}`);
      }, { retries: 1 });
      await progress(1, 1, `run ${run}`);
      await step("last", () => void done.push(`last in ${run}`));
      return `run ${run}`;
    },
  });
  await using server = await testServer({ tools: [late] });
  const task = await server.startTask(late);
  await until(() => runs === 1);
  await task.crash();
  assert.equal((await task.result()).text, "run 2");
  // The first process goes on in the middle of a step, as if it was only
  // paused.
  release();
  await server.advance(60);
  assert.equal((await task.status()).statusMessage, "1 of 1: run 2");
  assert.deepEqual(done, ["first in 2", "last in 2", "first in 1"]);
});

Deno.test("result() goes on at the next process, and other calls reject when theirs dies", async () => {
  const { post } = postTool();
  const hang = tool({
    name: "hang",
    run: (_input, { signal }) =>
      new Promise<string>((resolve) => {
        signal.addEventListener("abort", () => resolve(""));
      }),
  });
  await using server = await testServer({ tools: [post, hang] });
  const task = await server.startTask(post, input, { answers });
  await task.status();
  const result = task.result();
  const hanging = assert.rejects(server.call(hang), /died before it had/);
  await server.advance(60);
  await task.crash();
  await hanging;
  await server.advance(8 * HOUR);
  assert.equal((await result).text, "Posted tea");
});

Deno.test('ask({ url, until: "done" }) takes the answer of a test', async () => {
  const link = tool({
    name: "link",
    async run(_input, { ask }) {
      const { action } = await ask({
        message: "Connect it",
        url: "https://shop.example/connect",
        until: "done",
      });
      return action;
    },
  });
  await using server = await testServer({ tools: [link] });
  for (const answer of ["accept", "decline"] as const) {
    const { text } = await server.call(link, {}, { answers: [answer] });
    assert.equal(text, answer);
  }
});

Deno.test("a clock that is moved on ends a sleep", async () => {
  let aheadMilliseconds = 0;
  const clock = () => Date.now() + aheadMilliseconds;
  const morning = new Date(clock() + HOUR * 1000);
  const nap = tool({
    name: "nap",
    task: { durable: true },
    async run(_input, { sleep }) {
      await sleep("nap", morning);
      return "Awake.";
    },
  });
  await using server = await testServer({ tools: [nap], clock });
  const task = await server.startTask(nap);
  assert.equal((await task.status()).status, "working");
  aheadMilliseconds = 2 * HOUR * 1000;
  assert.equal((await task.result()).text, "Awake.");
});

Deno.test("crash() warns of a service in memory, and a testFile() keeps its data", async () => {
  const kept = service({
    name: "kept",
    settings: { KEPT_KV: z.string() },
    start: ({ settings }) => Deno.openKv(settings.KEPT_KV),
    stop: (kv) => kv.close(),
  });
  const keep = tool({
    name: "keep",
    task: { durable: true },
    services: { kept },
    async run(_input, { services, step }) {
      await step(
        "save",
        async () => void await services.kept.set(["a"], "tea"),
      );
      return `${(await services.kept.get(["a"])).value}`;
    },
  });
  const textAfterCrash = async (path: string) => {
    const env = { KEPT_KV: path };
    await using server = await testServer({ tools: [keep], env });
    const task = await server.startTask(keep);
    await task.crash({ after: "save" });
    return (await task.result()).text;
  };
  const warnings: unknown[] = [];
  const { warn } = console;
  console.warn = (words) => warnings.push(words);
  let folder: string;
  try {
    assert.equal(await textAfterCrash(":memory:"), "null");
    assert.equal(warnings.length, 1);
    assert.match(`${warnings[0]}`, /^crash: KEPT_KV is :memory:.*testFile/);
    await using file = await testFile();
    folder = file.path.replace(/\/[^/]*$/, "");
    assert.equal(await textAfterCrash(file.path), "tea");
  } finally {
    console.warn = warn;
  }
  assert.equal(warnings.length, 1);
  await assert.rejects(Deno.stat(folder), Deno.errors.NotFound);
});
