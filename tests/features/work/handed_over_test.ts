/** Calls that were handed over, and everyone who has to do with them. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../src/authoring/tool.ts";
import { Events, messagesOf, resultOf, textOf } from "../../kit/answer.ts";
import { Client } from "../../kit/client.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { kvWith } from "../../kit/kv.ts";
import {
  callerOf,
  GENERATIONS,
  handOver,
  Led,
  taskIdOf,
} from "../../kit/hand_over.ts";
import { type Json, rpc } from "../../kit/message.ts";
import { startServer } from "../../kit/server.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const ADA = { action: "accept", content: { name: "Ada" } };

/** A tool that asks someone's name once it may. */
class Asking {
  readonly started = Promise.withResolvers<void>();
  readonly ask = Promise.withResolvers<void>();
  readonly tool = tool({
    name: "led",
    handOver: 45,
    run: async (_input, { ask }) => {
      this.started.resolve();
      await this.ask.promise;
      const schema = z.object({ name: z.string() });
      const answer = await ask({ message: "Who?", schema });
      return answer.action === "accept"
        ? `Hello, ${answer.content.name}`
        : answer.action;
    },
  });
}

test.inMemory("task_status puts a question of a task to a client of 2025, and its answer reaches the task", async ({ kv }) => {
  using time = new FakeTime();
  const asking = new Asking();
  await using first = await startServer({ tools: [asking.tool], kv });
  await using second = await startServer({ tools: [asking.tool], kv });
  const human = { elicitation: {} };
  const caller = await callerOf(first, "2025", human);
  const { taskId } = await handOver(caller, asking, time);
  asking.ask.resolve();
  const other = await callerOf(second, "2025", human);
  const events = new Events(await other.call("task_status", { taskId }));
  const { id, method, params } = await events.read();
  assert.deepEqual([method, params.message], ["elicitation/create", "Who?"]);
  // No time passes for a call that waits for a person.
  time.tick(60);
  await other.session!.post({ jsonrpc: "2.0", id, result: ADA });
  const { result } = await events.read();
  assert.equal(result.content[0].text, "Hello, Ada");
  await events.close();
});

test.inMemory("task_status puts a question of a task to a client of 2026, and its answer reaches the task", async ({ kv }) => {
  using time = new FakeTime();
  const asking = new Asking();
  await using server = await startServer({ tools: [asking.tool], kv });
  const caller = await callerOf(server, "2026", { elicitation: {} });
  const { taskId } = await handOver(caller, asking, time);
  asking.ask.resolve();
  const { resultType, inputRequests, requestState } = await resultOf(
    caller.call("task_status", { taskId }),
  );
  assert.equal(resultType, "input_required");
  const [[key, question]] = Object.entries<Json>(inputRequests);
  assert.equal(question.params.message, "Who?");
  assert.equal(
    await textOf(
      caller.call("task_status", { taskId }, {
        requestState,
        inputResponses: { [key]: ADA },
      }),
    ),
    "Hello, Ada",
  );
});

for (const generation of GENERATIONS) {
  test.inMemory(`a client of ${generation} that cannot be asked is told what a task waits for`, async ({ kv }) => {
    using time = new FakeTime();
    const asking = new Asking();
    await using server = await startServer({ tools: [asking.tool], kv });
    const caller = await callerOf(server, generation, { elicitation: {} });
    const { taskId } = await handOver(caller, asking, time);
    const mute = await callerOf(server, generation);
    const telling = mute.call("task_status", { taskId });
    await until(() => server.app.running === 2);
    asking.ask.resolve();
    assert.match(await textOf(telling), /waits for an answer to “Who\?”/);
    await resultOf(mute.call("task_cancel", { taskId }));
    await until(() => server.app.running === 0);
  });
}

test.inMemory("a call that waits for a person's answer is not handed over before that", async ({ kv }) => {
  using time = new FakeTime();
  const end = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const led = tool({
    name: "led",
    handOver: 45,
    async run(_input, { ask }) {
      const schema = z.object({ name: z.string() });
      await ask({ message: "Who?", schema });
      answered.resolve();
      await end.promise;
      return "done";
    },
  });
  await using server = await startServer({ tools: [led], kv });
  const caller = await callerOf(server, "2025", { elicitation: {} });
  const events = new Events(await caller.call("led"));
  const { id } = await events.read();
  const last = events.read();
  // The second comment shows that a whole beat has passed over it.
  for (const comments of [2, 3]) {
    time.tick(60);
    await until(() => events.comments === comments);
  }
  await caller.session!.post({ jsonrpc: "2.0", id, result: ADA });
  await answered.promise;
  const { result } = await last;
  const taskId = taskIdOf(result);
  end.resolve();
  assert.equal(await textOf(caller.call("task_status", { taskId })), "done");
});

test.inMemory("a long call of a client with tasks becomes one, whatever was sent before", async ({ kv }) => {
  using time = new FakeTime();
  const led = new Led();
  await using server = await startServer({ tools: [led.tool], kv });
  const caller = await callerOf(server, "2026", TASKS);
  assert.deepEqual(await caller.list(), ["led"]);
  const response = server.call("tools/call", { name: "led" }, {
    capabilities: TASKS,
    meta: { progressToken: 1 },
  });
  const { progress } = await led.started.promise;
  await progress(3, 9, "indexing");
  time.tick(45);
  const [told, { result }] = await messagesOf(await response);
  assert.equal(told.params.progress, 3);
  assert.deepEqual([result.resultType, result.status, result.statusMessage], [
    "task",
    "working",
    "3 of 9: indexing",
  ]);
  led.end.resolve(5);
  const { taskId } = result;
  const get = () =>
    resultOf(server.call("tasks/get", { taskId }, { capabilities: TASKS }));
  await until(async () => (await get()).status === "completed");
  assert.deepEqual((await get()).result.structuredContent, { n: 5 });
});

test.inMemory("a call that its client cancels in time is no task", async ({ kv }) => {
  using time = new FakeTime();
  const led = new Led({ task: "required" });
  const plain = new Led();
  for (const { tool, started, stopped } of [led, plain]) {
    await using server = await startServer({ tools: [tool], kv });
    const caller = await callerOf(server, "2025");
    const answer = caller.session!.request("tools/call", { name: "led" }, 7);
    await started.promise;
    await caller.session!.notify("notifications/cancelled", { requestId: 7 });
    await (await answer).body?.cancel();
    await stopped.promise;
    time.tick(45);
    await until(() => server.app.running === 0);
    assert.equal(
      (await Array.fromAsync(kv.list({ prefix: ["task-lease"] }))).length,
      0,
    );
  }
});

for (const task of ["required", { durable: true }] as const) {
  test.inMemory(`a call that its client cancels while its task is stored does no work: ${Deno.inspect(task)}`, async ({ kv }) => {
    let cancel: (() => Promise<unknown>) | undefined;
    const atomic = () => {
      const operation = kv.atomic();
      const { set, commit } = operation;
      operation.set = (key, ...more) => {
        if (key[0] === "task") {
          operation.commit = async () => {
            await cancel?.();
            return await commit.call(operation);
          };
        }
        return set.call(operation, key, ...more);
      };
      return operation;
    };
    let begun = 0;
    const led = tool({
      name: "led",
      task,
      limit: { callsAtOnce: 1 },
      run: () => `call ${++begun}`,
    });
    const slow = kvWith(kv, { atomic });
    await using server = await startServer({ tools: [led], kv: slow });
    const caller = await callerOf(server, "2025");
    cancel = () => {
      cancel = undefined;
      return caller.session!.notify("notifications/cancelled", {
        requestId: 7,
      });
    };
    const answer = caller.session!.request("tools/call", { name: "led" }, 7);
    await (await answer).body?.cancel();
    await until(async () => {
      const [task] = await Array.fromAsync(kv.list<Json>({ prefix: ["task"] }));
      return task?.value.status === "cancelled";
    });
    const { content } = await resultOf(caller.call("led"));
    assert.equal(content[0].text, "call 1");
  });
}

test.inMemory("the end of a session ends no call that was handed over", async ({ kv }) => {
  using time = new FakeTime();
  const led = new Led();
  await using server = await startServer({ tools: [led.tool], kv });
  const caller = await callerOf(server, "2025");
  const { taskId } = await handOver(caller, led, time);
  assert.equal((await caller.session!.end()).status, 202);
  time.tick(60);
  const later = await callerOf(server, "2026");
  const telling = later.call("task_status", { taskId });
  await until(() => server.app.running === 2);
  led.end.resolve(4);
  assert.deepEqual((await resultOf(telling)).structuredContent, { n: 4 });
});

test.inMemory("calls of a batch are handed over each", async ({ kv }) => {
  using time = new FakeTime();
  const led = new Led();
  const quick = tool({ name: "quick", run: () => "now" });
  await using server = await startServer({ tools: [led.tool, quick], kv });
  const session = await server.openSession({ revision: "2025-03-26" });
  const batch = session.post([
    rpc("tools/call", { name: "led" }, 1),
    rpc("tools/call", { name: "quick" }, 2),
  ]);
  await led.started.promise;
  time.tick(45);
  const answers: Json[] = (await messagesOf(await batch)).flat();
  const { result } = answers.find(({ id }) => id === 1);
  led.end.resolve(6);
  const taskId = taskIdOf(result);
  const told = await resultOf(
    session.request("tools/call", {
      name: "task_status",
      arguments: { taskId },
    }),
  );
  assert.deepEqual(told.structuredContent, { n: 6 });
});

test.inMemory("task_status says on another server that the one with the work has stopped", async ({ kv }) => {
  using time = new FakeTime();
  const led = new Led();
  const first = await startServer({ tools: [led.tool], kv });
  const { taskId } = await handOver(await callerOf(first, "2025"), led, time);
  await first[Symbol.asyncDispose]();
  await using second = await startServer({ tools: [led.tool], kv });
  const caller = await callerOf(second, "2025");
  const { isError, content } = await resultOf(
    caller.call("task_status", { taskId }),
  );
  assert.deepEqual([isError, content[0].text], [
    true,
    "The task has failed: The process that ran this task has stopped",
  ]);
});

/** Signs people in, and calls as each of them. */
async function people(server: Awaited<ReturnType<typeof startOAuthServer>>) {
  const client = await Client.register(server);
  const sign = async (subject: string) => {
    server.provider.subject = subject;
    const { access_token } = await client.connect({});
    const headers = { authorization: `Bearer ${access_token}` };
    return (name: string, args = {}, capabilities = {}) =>
      server.call("tools/call", { name, arguments: args }, {
        headers,
        capabilities,
      });
  };
  return { ada: await sign("1"), bob: await sign("2") };
}

test.inMemory("a call that was handed over is its person's, and noted once, with its end", async ({ kv }) => {
  using time = new FakeTime();
  const led = new Led();
  const server = await startOAuthServer({ tools: [led.tool], kv });
  try {
    const { ada, bob } = await people(server);
    const answer = ada("led");
    await led.started.promise;
    time.tick(45);
    const taskId = taskIdOf(await resultOf(answer));
    for (const name of ["task_status", "task_cancel"]) {
      assert.match(await textOf(bob(name, { taskId })), /^You have no task/);
    }
    led.end.resolve(8);
    const told = await resultOf(ada("task_status", { taskId }));
    assert.deepEqual(told.structuredContent, { n: 8 });
    await until(() => server.app.running === 0);
  } finally {
    await server[Symbol.asyncDispose]();
  }
  // A server that has closed has written everything down.
  const ledgers = kv.list<Json>({ prefix: ["ledger"] });
  const noted = (await Array.fromAsync(ledgers)).map(({ value }) =>
    JSON.stringify(value)
  ).join();
  assert.equal(noted.match(/"led"/g)?.length, 1, noted);
  assert.match(noted, /task_status/);
});

test.inMemory("a call goes on in its request where its person has too many tasks", async ({ kv }) => {
  using time = new FakeTime();
  const led = new Led();
  const busy = new Led({ task: "required" });
  await using server = await startOAuthServer({
    tools: [led.tool, { ...busy.tool, name: "busy" }],
    kv,
    environment: { CALLS_PER_MINUTE: "0" },
  });
  const { ada } = await people(server);
  for (let n = 0; n < 100; n++) await resultOf(ada("busy", {}, TASKS));
  const answer = ada("led");
  await led.started.promise;
  time.tick(45);
  const events = new Events(await answer);
  const last = events.read();
  for (const comments of [1, 2, 3]) {
    await until(() => events.comments === comments);
    time.tick(15);
  }
  led.end.resolve(2);
  const { result } = await last;
  assert.deepEqual(result.structuredContent, { n: 2 });
  busy.end.resolve(1);
  await until(() => server.app.running === 0);
});
