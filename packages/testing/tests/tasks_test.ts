/** The test kit's tasks. */
import assert from "node:assert/strict";
import { type Progress, type RequestOptions, testServer } from "../mod.ts";
import type { Context } from "../../../src/authoring/context.ts";
import { build, everything, greet, wait } from "./tools.ts";
import { result, type Tool, tool, z } from "../../../src/mod.ts";
import { notYetMeta } from "../../../src/core/protocol/not_yet.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { until } from "../../../tests/kit/wait.ts";

const forever: Tool = { ...wait, name: "forever", task: "optional" };

Deno.test("call() waits for the end of a task and answers what it asks", async () => {
  await using server = await testServer(everything);
  const { structured, questions } = await server.call(build, { n: 21 }, {
    answers: ["accept"],
  });
  assert.equal(structured.doubled, 42);
  assert.equal(questions[0].message, "Sure?");
});

Deno.test("call() has the progress of an optional task, in both of its forms", async () => {
  const steps = tool({
    name: "steps",
    task: "optional",
    async run(_input, { progress }) {
      await progress(1, 3);
      await progress(2, 3, "nearly");
      await progress(2, 3, "not sent: it does not grow");
      await progress(3, 3);
      return "";
    },
  });
  await using server = await testServer({ tools: [steps] });
  const expected = [
    { progress: 1, total: 3 },
    { progress: 2, total: 3, message: "nearly" },
    { progress: 3, total: 3 },
  ];
  const seen: Progress[] = [];
  const onProgress = (progress: Progress) => seen.push(progress);
  const asTask = await server.call(steps, {}, { onProgress });
  assert.deepEqual(asTask.progress, expected);
  assert.deepEqual(seen, expected);
  const inRequest = await server.call(steps, {}, { capabilities: {} });
  assert.deepEqual(inRequest.progress, expected);
  const session = await server.call(steps, {}, { revision: "2025-11-25" });
  assert.deepEqual(session.progress, expected);
});

Deno.test("call() tells how a task failed", async () => {
  await using server = await testServer(everything);
  const declined = await server.call(build, { n: 1 }, { answers: ["decline"] });
  assert.deepEqual([declined.isError, declined.text], [
    true,
    "Not without consent.",
  ]);
  await assert.rejects(
    server.call(build, { n: -1 }, { answers: ["accept"] }),
    /build threw RangeError: n is below zero/,
  );
});

Deno.test("a question of a task without an answer fails the test", async () => {
  await using server = await testServer(everything);
  await assert.rejects(server.call(build, { n: 1 }), /build asked .*[^]*Sure/);
});

Deno.test("startTask() gives a task to look at, wait for and cancel", async () => {
  await using server = await testServer({ tools: [build, forever] });
  const task = await server.startTask(build, { n: 2 }, { answers: ["accept"] });
  const result = await task.result();
  assert.equal(result.structured.doubled, 4);
  assert.deepEqual(await task.status(), {
    status: "completed",
    statusMessage: "1 of 2: Half way",
  });
  const endless = await server.startTask(forever);
  assert.deepEqual(await endless.status(), { status: "working" });
  const waiting = endless.result();
  await endless.cancel();
  await assert.rejects(waiting, /The task of forever was cancelled/);
  assert.deepEqual(await endless.status(), { status: "cancelled" });
});

for (
  const [told, capabilities] of [
    ["as a task", undefined],
    ["in words", { elicitation: { form: {} } }],
  ] as const
) {
  Deno.test(`call() rejects with the first error of a call handed over ${told}, which cannot be cancelled`, async () => {
    const kv = memoryKv();
    await using server = await testServer({ ...everything, kv });
    const answers = () => {
      kv[Symbol.dispose]();
      throw new Error("the first");
    };
    await assert.rejects(
      server.call(build, { n: 1 }, { answers, capabilities }),
      /^Error: the first$/,
    );
  });
}

Deno.test("signal cancels the task that a call waits for", async () => {
  await using server = await testServer({ tools: [forever] });
  const abort = new AbortController();
  const reason = new Error("enough");
  const task = await server.startTask(forever, {}, { signal: abort.signal });
  const waiting = task.result();
  abort.abort(reason);
  await assert.rejects(waiting, reason);
  assert.deepEqual(await task.status(), { status: "cancelled" });
});

Deno.test("startTask() tells why there is no task", async () => {
  await using server = await testServer({ tools: [build, forever, greet] });
  await assert.rejects(
    server.startTask(greet),
    /greet cannot become a task: it must declare task: "optional"/,
  );
  await assert.rejects(
    server.startTask(forever, {}, { revision: "2025-11-25" }),
    /forever cannot become a task: 2025-11-25 has none/,
  );
  await using strict = await testServer({ tools: [build], handOver: 0 });
  await assert.rejects(
    strict.call(build, { n: 1 }, { revision: "2025-11-25" }),
    { code: -32602, message: /^build was refused/ },
  );
});

/** The clients to which a call is handed over, with tasks and without. */
const CLIENTS: readonly RequestOptions[] = [
  { revision: "2026-07-28" },
  { revision: "2026-07-28", capabilities: { elicitation: { form: {} } } },
  { revision: "2025-11-25" },
];

/** A tool whose calls are handed over, and a server with it. */
async function handingOver(act: (context: Context) => Promise<number>) {
  const kv = memoryKv();
  const slow = tool({
    name: "slow",
    output: z.object({ n: z.number() }),
    handOver: 0.001,
    async run(_input, context) {
      await context.progress(1, 2, "half");
      const isHandedOver = async () =>
        (await Array.fromAsync(kv.list({ prefix: ["task"] }))).length > 0;
      await until(isHandedOver);
      return { n: await act(context as unknown as Context) };
    },
  });
  const server = await testServer({ tools: [slow], kv });
  return { server, slow, kv };
}

for (const options of CLIENTS) {
  const { revision, capabilities = "all" } = options;
  const name = `${revision} ${JSON.stringify(capabilities)}`;

  Deno.test(`call() follows a call that was handed over, in ${name}`, async () => {
    const { server, slow } = await handingOver(async ({ ask }) => {
      const { action } = await ask({
        message: "Sure?",
        schema: z.object({ sure: z.boolean() }),
      });
      return action === "accept" ? 42 : 0;
    });
    await using _server = server;
    const { structured, questions, isError, progress } = await server.call(
      slow,
      {},
      { ...options, answers: [{ action: "accept", content: { sure: true } }] },
    );
    assert.deepEqual([structured, isError], [{ n: 42 }, false]);
    assert.equal(questions[0].message, "Sure?");
    assert.deepEqual(progress, [{ progress: 1, total: 2, message: "half" }]);
  });

  Deno.test(`call() tells how a call that was handed over failed, in ${name}`, async () => {
    const { server, slow } = await handingOver(() =>
      Promise.reject(new RangeError("n is below zero"))
    );
    await using _server = server;
    await assert.rejects(
      server.call(slow, {}, options),
      /slow threw RangeError: n is below zero/,
    );
  });

  Deno.test(`call() ends the work that was handed over with a question that no one answers, in ${name}`, async () => {
    const ended = Promise.withResolvers<unknown>();
    const { server, slow } = await handingOver(async ({ ask, signal }) => {
      signal.addEventListener("abort", () => ended.resolve(signal.reason));
      await ask({ message: "Who?", schema: z.object({ name: z.string() }) });
      return 0;
    });
    await using _server = server;
    await assert.rejects(
      server.call(slow, {}, options),
      /slow asked a question that the test does not answer.*[^]*Who\?/,
    );
    await ended.promise;
  });
}

/** The answer of another server, which a tool repeats. */
const ELSEWHERE = "The tool still runs. Call task_status again with " +
  '{"taskId":"of-another-server"} for its result.';

Deno.test("call() gives the words of a tool that name a task of another server", async () => {
  const repeat = tool({ name: "repeat", run: () => ELSEWHERE });
  for (const handOver of [45, 0]) {
    await using server = await testServer({ tools: [repeat], handOver });
    assert.equal((await server.call(repeat)).text, ELSEWHERE);
  }
});

Deno.test("call() gives such words of a call that was handed over", async () => {
  const kv = memoryKv();
  const repeat = tool({
    name: "repeat",
    handOver: 0.001,
    async run() {
      await until(async () =>
        (await Array.fromAsync(kv.list({ prefix: ["task"] }))).length > 0
      );
      return ELSEWHERE;
    },
  });
  await using server = await testServer({ tools: [repeat], kv });
  const { text } = await server.call(repeat, {}, { revision: "2025-11-25" });
  assert.equal(text, ELSEWHERE);
});

Deno.test("call() repeats a call that goes on, where the server says so", async () => {
  const seen: number[] = [];
  const slow = tool({
    name: "slow",
    input: z.object({ a: z.number() }),
    output: z.object({ count: z.number() }),
    run: ({ a }) =>
      result({ count: seen.push(a) }, {
        meta: seen.length === 1
          ? notYetMeta({ taskId: "t", state: "Runs.", isRepeatable: true })
            ._meta
          : {},
      }),
  });
  await using server = await testServer({ tools: [slow] });
  const { structured } = await server.call(slow, { a: 7 });
  assert.deepEqual([structured, seen], [{ count: 2 }, [7, 7]]);
});

Deno.test("signal ends a call that was handed over, in words too", async () => {
  const ended = Promise.withResolvers<unknown>();
  const abort = new AbortController();
  const reason = new Error("enough");
  const { server, slow } = await handingOver(async ({ signal }) => {
    signal.addEventListener("abort", () => ended.resolve(signal.reason));
    abort.abort(reason);
    await ended.promise;
    return 0;
  });
  await using _server = server;
  await assert.rejects(
    server.call(slow, {}, { revision: "2025-11-25", signal: abort.signal }),
    reason,
  );
  await ended.promise;
});
