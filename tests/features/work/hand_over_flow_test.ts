/** Calls that take long and become tasks, for clients that know none. */
import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { taskLeaseKey } from "../../../src/core/kv/keys.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime, SteadyTime } from "../../kit/fake_time.ts";
import { messagesOf, refusal, resultOf, textOf } from "../../kit/answer.ts";
import {
  callerOf,
  GENERATIONS,
  handOver,
  Led,
  taskIdOf,
} from "../../kit/hand_over.ts";
import { kvWith } from "../../kit/kv.ts";
import type { Json } from "../../kit/message.ts";
import { startServer } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";

for (const generation of GENERATIONS) {
  test.inMemory(`a long call of ${generation} is answered how far it is, and task_status gives the tool's own result anywhere`, async ({ kv }) => {
    using time = new FakeTime();
    const led = new Led();
    await using first = await startServer({ tools: [led.tool], kv });
    await using second = await startServer({ tools: [led.tool], kv });
    const caller = await callerOf(first, generation);
    assert.deepEqual(await caller.list(), [
      "led",
      "task_status",
      "task_cancel",
    ]);
    const answer = caller.call("led");
    const { progress, log } = await led.started.promise;
    await progress(3, 9, "indexing");
    time.tick(45);
    const handed = await resultOf(answer);
    const [{ text }] = handed.content;
    assert.match(text, /still runs: 3 of 9: indexing\. .*task_status/);
    // Or clients would miss the structured content.
    assert.deepEqual([handed.isError, handed.structuredContent], [
      true,
      undefined,
    ]);
    assert.match(text, /^Nothing has failed\. /);

    const other = await callerOf(second, generation);
    const taskId = taskIdOf(handed);
    const status = other.call("task_status", { taskId });
    await log("info", "dropped");
    await progress(4, 9);
    await until(() => second.app.running === 1);
    time.tick(25);
    const told = await resultOf(status);
    assert.equal(told.isError, undefined);
    assert.match(
      told.content[0].text,
      /^The tool still runs: [34] of 9.* task_status again/,
    );

    const last = other.call("task_status", { taskId });
    led.end.resolve(7);
    const { content, structuredContent, isError, _meta } = await resultOf(last);
    assert.deepEqual([structuredContent, isError, _meta.own], [
      { n: 7 },
      undefined,
      1,
    ]);
    assert.equal(content[0].text, '{"n":7}');
    await until(() => first.app.running === 0);
  });

  test.inMemory(`progress after the hand-over of a call of ${generation} reaches the status, to the last`, async ({ kv }) => {
    // The lease of the task lasts, by the time of day.
    using time = new SteadyTime();
    const led = new Led();
    await using server = await startServer({ tools: [led.tool], kv });
    const caller = await callerOf(server, generation);
    const { context, taskId } = await handOver(caller, led, time);
    for (let n = 1; n <= 5; n++) await context.progress(n, 9);
    const status = async () => {
      const telling = caller.call("task_status", { taskId });
      await until(() => server.app.running > 1);
      time.tick(25);
      return (await resultOf(telling)).content[0].text;
    };
    await until(async () => /5 of 9\./.test(await status()));
    led.end.resolve(1);
    await until(() => server.app.running === 0);
  });

  test.inMemory(`task_cancel ends a call of ${generation} that was handed over, from any server`, async ({ kv }) => {
    using time = new FakeTime();
    const led = new Led();
    await using first = await startServer({ tools: [led.tool], kv });
    await using second = await startServer({ tools: [led.tool], kv });
    const caller = await callerOf(first, generation);
    const { taskId } = await handOver(caller, led, time);
    const other = await callerOf(second, generation);
    const cancel = async () => {
      const { content } = await resultOf(other.call("task_cancel", { taskId }));
      return content[0].text;
    };
    assert.equal(await cancel(), "The task is cancelled.");
    assert.equal(await led.stopped.promise, "The task has ended");
    assert.match(await cancel(), /had ended before/);
    const told = await resultOf(caller.call("task_status", { taskId }));
    assert.deepEqual([told.isError, told.content[0].text], [
      true,
      "The task was cancelled.",
    ]);
    await until(() => first.app.running === 0);
  });

  Deno.test(`the server's own tools say to ${generation} what is wrong with an ID`, async () => {
    await using server = await startServer({ tools: [new Led().tool] });
    const caller = await callerOf(server, generation);
    for (const name of ["task_status", "task_cancel"]) {
      for (
        const [args, words] of [
          [{ taskId: "none" }, /no task with this ID/],
          [{ taskId: 1 }, /must be a string/],
          [{}, /must be a string/],
        ] as const
      ) {
        const told = await resultOf(caller.call(name, args));
        assert.equal(told.isError, true);
        assert.match(told.content[0].text, words);
      }
    }
  });

  test.inMemory(`a tool that is always a task begins as one for a client of ${generation} without tasks`, async ({ kv }) => {
    using time = new FakeTime();
    const led = new Led({ task: "required" });
    const quick = tool({ name: "quick", task: "required", run: () => "now" });
    const tools = [led.tool, quick];
    await using server = await startServer({ tools, kv });
    const caller = await callerOf(server, generation);
    assert.equal((await caller.list()).includes("led"), true);
    assert.equal(await textOf(caller.call("quick")), "now");
    const { taskId } = await handOver(caller, led, time);
    led.end.resolve(3);
    const told = await resultOf(caller.call("task_status", { taskId }));
    assert.deepEqual(told.structuredContent, { n: 3 });
  });

  test.inMemory(`a call of ${generation} whose task cannot be read for a while is answered with its ID, or its result`, async ({ kv }) => {
    using time = new FakeTime();
    for (const comesBack of [false, true]) {
      let isAway = false;
      let failures = 0;
      const [lease] = taskLeaseKey("");
      const flaky = kvWith(kv, {
        getMany(keys: Deno.KvKey[]) {
          if (!isAway || keys.every(([kind]) => kind !== lease)) {
            return kv.getMany(keys);
          }
          failures++;
          return Promise.reject(new Error("connection reset"));
        },
      });
      const led = new Led({ task: "required" });
      await using server = await startServer({ tools: [led.tool], kv: flaky });
      const caller = await callerOf(server, generation);
      const answer = caller.call("led");
      const { progress } = await led.started.promise;
      isAway = true;
      await progress(1, 2);
      await until(() => failures > 3);
      if (comesBack) {
        isAway = false;
        led.end.resolve(5);
        assert.deepEqual((await resultOf(answer)).structuredContent, { n: 5 });
        continue;
      }
      time.tick(45);
      const taskId = taskIdOf(await resultOf(answer));
      isAway = false;
      led.end.resolve(4);
      const told = await resultOf(caller.call("task_status", { taskId }));
      assert.deepEqual(told.structuredContent, { n: 4 });
    }
  });

  test.inMemory(`a tool that is always a task tells its progress to a call of ${generation} that waits for it`, async ({ kv }) => {
    const busy = tool({
      name: "busy",
      task: "required",
      async run(_input, { progress }) {
        await progress(1, 3, "begun");
        await progress(2);
        return "done";
      },
    });
    await using server = await startServer({ tools: [busy], kv });
    const _meta = { progressToken: "p" };
    const answer = generation === "2026"
      ? await server.call("tools/call", { name: "busy" }, { meta: _meta })
      : await (await server.openSession())
        .request("tools/call", { name: "busy", _meta });
    const messages = await messagesOf(answer);
    const { result } = messages.pop();
    assert.deepEqual(
      messages.map(({ method, params }: Json) => [method, params]),
      [
        ["notifications/progress", {
          progressToken: "p",
          progress: 1,
          total: 3,
          message: "begun",
        }],
        ["notifications/progress", { progressToken: "p", progress: 2 }],
      ],
    );
    assert.equal(result.content[0].text, "done");
    const quiet = await resultOf(
      (await server.openSession()).request("tools/call", { name: "busy" }),
    );
    assert.equal(quiet.content[0].text, "done");
  });

  test.inMemory(`a call of ${generation} that is never handed over waits in its request`, async ({ kv }) => {
    using time = new FakeTime();
    const led = new Led({ handOver: 0 });
    await using server = await startServer({ tools: [led.tool], kv });
    const caller = await callerOf(server, generation);
    assert.deepEqual(await caller.list(), ["led"]);
    const answer = caller.call("led");
    await led.started.promise;
    time.tick(1000);
    led.end.resolve(9);
    assert.deepEqual((await resultOf(answer)).structuredContent, { n: 9 });
    for (const name of ["task_status", "task_cancel"]) {
      const asked = caller.call(name, { taskId: "x" });
      assert.equal(await refusal(asked), "200 -32602");
    }
  });
}

test.inMemory("a client with tasks hears of progress in the status alone", async ({ kv }) => {
  const led = new Led({ task: "required" });
  const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  await using server = await startServer({ tools: [led.tool], kv });
  const called = server.call("tools/call", { name: "led" }, {
    meta: { progressToken: "p" },
    capabilities: TASKS,
  });
  const { progress } = await led.started.promise;
  await progress(1, 3);
  assert.equal((await resultOf(called)).resultType, "task");
  led.end.resolve(1);
});
