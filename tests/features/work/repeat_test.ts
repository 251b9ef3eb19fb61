/** Calls that take long of tools that do not say so, and the same calls again. */
import assert from "node:assert/strict";
import * as z from "zod";
import type { Context } from "../../../src/authoring/context.ts";
import { tool } from "../../../src/authoring/tool.ts";
import type { CompiledTool } from "../../../src/core/catalogue/compiled_tool.ts";
import type { LogEvent } from "../../../src/core/log/log_line.ts";
import { Events, resultOf } from "../../kit/answer.ts";
import { Client } from "../../kit/client.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { callerOf, GENERATIONS } from "../../kit/hand_over.ts";
import type { Json } from "../../kit/message.ts";
import {
  BASE_URL,
  Sender,
  startServer,
  type TestServer,
} from "../../kit/server.ts";
import { Meta } from "../../../src/core/protocol/request_meta.ts";
import { repeatOf } from "../../../src/features/work/repeat.ts";
import type { LastingCall } from "../../../src/features/work/task_engine.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** A run of a tool that a test leads. */
interface Run {
  context: Context;
  end(n: number): void;
}

/** A tool that does not say that it takes long, and all of its runs. */
class Slow {
  readonly runs: Run[] = [];
  readonly tool = tool({
    name: "slow",
    input: z.object({ a: z.number().optional(), b: z.string().optional() }),
    run: async (_input, context) => {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const { signal } = context;
      signal.addEventListener("abort", () => reject(signal.reason));
      this.runs.push({ context: context as unknown as Context, end: resolve });
      return `result ${await promise}`;
    },
  });

  /** Waits until it runs for the n-th time. */
  async started(n: number): Promise<Run> {
    await until(() => this.runs.length === n);
    return this.runs[n - 1];
  }
}

/** Lets the time pass until calls that run are answered; gives the answers. */
async function passUntil(
  time: FakeTime,
  ...answers: Promise<Response>[]
): Promise<Json[]> {
  time.tick(45);
  let given: Json[] | undefined;
  Promise.all(answers.map(resultOf)).then((results) => given = results);
  await until(() => {
    // Two steps of a hand-over are some time apart.
    time.tick(1);
    return given !== undefined;
  });
  return given!;
}

/** Counts the watches of tasks, one for each call that waits for one. */
function watchesOfTasks(kv: Deno.Kv): { count: number } {
  const watches = { count: 0 };
  const watch = kv.watch.bind(kv);
  Object.assign(kv, {
    watch(...[keys, options]: Parameters<Deno.Kv["watch"]>) {
      if (keys[0][0] === "task") watches.count++;
      return watch(keys, options);
    },
  });
  return watches;
}

function wordsOf({ content: [{ text }] }: Json): string {
  return text;
}

const NOT_YET =
  /^This is not the result yet\. .* call slow again with the same arguments/;

for (const generation of GENERATIONS) {
  test.inMemory(`a long call of ${generation} is picked up by the same call on another server, once`, async ({ kv }) => {
    using time = new FakeTime();
    const slow = new Slow();
    const written: LogEvent[] = [];
    const log = { write: (event: LogEvent) => void written.push(event) };
    await using first = await startServer({ tools: [slow.tool], kv, log });
    await using second = await startServer({ tools: [slow.tool], kv });
    const caller = await callerOf(first, generation);
    assert.deepEqual(await caller.list(), ["slow"]);
    const answer = caller.call("slow", { a: 1, b: "x" });
    const { context, end } = await slow.started(1);
    await context.progress(3, 9);
    const [handed] = await passUntil(time, answer);
    assert.match(wordsOf(handed), NOT_YET);
    assert.match(wordsOf(handed), /3 of 9/);
    assert.deepEqual(
      written.filter(({ level }) => level === "warning")
        .map(({ message, properties: { tool } }) => [
          /`task`/.test(message),
          tool,
        ]),
      [[true, "slow"]],
    );

    const there = caller.at(second);
    // Its own request is answered in time too.
    const waiting = there.call("slow", { b: "x", a: 1 });
    await until(() => second.app.running === 1);
    time.tick(45);
    assert.match(wordsOf(await resultOf(waiting)), NOT_YET);
    const last = there.call("slow", { b: "x", a: 1 });
    await until(() => second.app.running === 1);
    end(1);
    assert.equal(wordsOf(await resultOf(last)), "result 1");

    const anew = there.call("slow", { a: 1, b: "x" });
    (await slow.started(2)).end(2);
    assert.equal(wordsOf(await resultOf(anew)), "result 2");
    await until(() => first.app.running === 0);
  });

  test.inMemory(`a client of ${generation} that cancels a repeat ends the work`, async ({ kv }) => {
    using time = new FakeTime();
    const slow = new Slow();
    await using server = await startServer({ tools: [slow.tool], kv });
    const caller = await callerOf(server, generation);
    const answer = caller.call("slow");
    const { context } = await slow.started(1);
    await passUntil(time, answer);
    const { session } = caller;
    if (session) {
      const params = { name: "slow", arguments: {} };
      const repeat = session.request("tools/call", params, 9);
      await until(() => server.app.running === 2);
      await session.notify("notifications/cancelled", { requestId: 9 });
      await (await repeat).body?.cancel();
    } else {
      const repeat = caller.call("slow");
      await until(() => server.app.running === 2);
      time.tick(1);
      await (await repeat).body?.cancel();
    }
    await until(() => context.signal.aborted);
    await until(() => server.app.running === 0);
  });

  test.inMemory(`calls of ${generation} with other arguments are no repeats, and of two equal ones each repeat takes one`, async ({ kv }) => {
    using time = new FakeTime();
    const slow = new Slow();
    await using server = await startServer({ tools: [slow.tool], kv });
    const caller = await callerOf(server, generation);
    const answers = [caller.call("slow"), caller.call("slow")];
    await slow.started(2);
    for (const handed of await passUntil(time, ...answers)) {
      assert.match(wordsOf(handed), NOT_YET);
    }
    const other = caller.call("slow", { a: 1 });
    (await slow.started(3)).end(3);
    assert.equal(wordsOf(await resultOf(other)), "result 3");

    const repeats = [caller.call("slow"), caller.call("slow")];
    await until(() => server.app.running === 4);
    slow.runs[1].end(2);
    slow.runs[0].end(1);
    const given = await Promise.all(repeats.map(resultOf));
    assert.deepEqual(given.map(wordsOf).sort(), ["result 1", "result 2"]);
    assert.equal(slow.runs.length, 3);
  });

  test.inMemory(`repeats of ${generation} that wait together for one call are given one result`, async ({ kv }) => {
    using time = new FakeTime();
    const slow = new Slow();
    await using server = await startServer({ tools: [slow.tool], kv });
    const caller = await callerOf(server, generation);
    const answer = caller.call("slow");
    const { end } = await slow.started(1);
    await passUntil(time, answer);
    const watches = watchesOfTasks(kv);
    const repeats = [caller.call("slow"), caller.call("slow")];
    await until(() => watches.count === 2);
    end(1);
    const given = await Promise.all(repeats.map(resultOf));
    assert.deepEqual(given.map(wordsOf), ["result 1", "result 1"]);
    assert.equal(slow.runs.length, 1);
  });

  test.inMemory(`a result of ${generation} waits five minutes for a repeat, and an end without one is told`, async ({ kv }) => {
    using time = new FakeTime();
    const slow = new Slow();
    const first = await startServer({ tools: [slow.tool], kv });
    await using second = await startServer({ tools: [slow.tool], kv });
    const caller = await callerOf(first, generation);
    const answers = [caller.call("slow", { a: 1 }), caller.call("slow")];
    await slow.started(2);
    await passUntil(time, ...answers);
    for (const { end } of slow.runs) end(1);
    await until(() => first.app.running === 0);
    time.tick(299);
    const there = caller.at(second);
    const inTime = await resultOf(there.call("slow"));
    assert.equal(wordsOf(inTime), "result 1");
    time.tick(2);
    const late = there.call("slow", { a: 1 });
    (await slow.started(3)).end(3);
    assert.equal(wordsOf(await resultOf(late)), "result 3");

    const dying = caller.call("slow");
    await slow.started(4);
    await passUntil(time, dying);
    await first[Symbol.asyncDispose]();
    const { isError, content } = await resultOf(there.call("slow"));
    assert.equal(isError, true);
    assert.match(content[0].text, /has failed: .* has stopped$/);
    const again = there.call("slow");
    (await slow.started(5)).end(5);
    assert.equal(wordsOf(await resultOf(again)), "result 5");
  });
}

test.inMemory("a client that is gone takes no result", async ({ kv }) => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool], kv });
  const caller = await callerOf(server, "2025");
  const answer = caller.call("slow");
  const { end } = await slow.started(1);
  await passUntil(time, answer);
  const lost = caller.call("slow");
  await until(() => server.app.running === 2);
  // Its stream opens, and is dropped, which is no cancellation in 2025.
  time.tick(15);
  await (await lost).body!.cancel();
  end(1);
  await until(() => server.app.running === 0);
  assert.equal(wordsOf(await resultOf(caller.call("slow"))), "result 1");
  assert.equal(slow.runs.length, 1);
});

test.inMemory("a question of a call that goes on is put to the client that repeats it", async ({ kv }) => {
  using time = new FakeTime();
  const may = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const slow = tool({
    name: "slow",
    async run(_input, { ask }) {
      started.resolve();
      await may.promise;
      const schema = z.object({ name: z.string() });
      return (await ask({ message: "Who?", schema })).action;
    },
  });
  await using server = await startServer({ tools: [slow], kv });
  const caller = await callerOf(server, "2025", { elicitation: {} });
  const answer = caller.call("slow");
  await started.promise;
  await passUntil(time, answer);
  may.resolve();
  const events = new Events(await caller.call("slow"));
  const { id, params } = await events.read();
  assert.equal(params.message, "Who?");
  const result = { action: "decline" };
  await caller.session!.post({ jsonrpc: "2.0", id, result });
  assert.equal(wordsOf((await events.read()).result), "decline");
  await events.close();
});

test.inMemory("many people without sessions share no call in which one was asked, or could be", async ({ kv }) => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool], kv });
  const human = { elicitation: {} };
  const caller = await callerOf(server, "2026", human);
  const schema = z.object({ name: z.string() });
  const ask = ({ context }: Run) => context.ask({ message: "Who?", schema });

  const plain = caller.call("slow");
  const run = await slow.started(1);
  await passUntil(time, plain);
  // It ends the run: no author's code can go on with no answer.
  ask(run);
  await until(() => server.app.running === 0);
  const told = await resultOf(caller.call("slow"));
  assert.equal(told.isError, true);
  assert.match(wordsOf(told), /^No one can be asked any more/);

  const first = caller.call("slow");
  ask(await slow.started(2));
  const { requestState, inputRequests } = await resultOf(first);
  const content = { name: "Ada" };
  const inputResponses = Object.fromEntries(
    Object.keys(inputRequests).map((key) => [key, {
      action: "accept",
      content,
    }]),
  );
  const answered = caller.call("slow", {}, { requestState, inputResponses });
  const next = await slow.started(3);
  assert.deepEqual(await ask(next), { action: "accept", content });
  time.tick(60);
  const events = new Events(await answered);
  const last = events.read();
  for (const comments of [1, 2, 3]) {
    await until(() => events.comments === comments);
    time.tick(60);
  }
  next.end(3);
  assert.equal(wordsOf((await last).result), "result 3");
  await events.close();
});

test.inMemory("a call is repeated by no other person, client, session or network", async ({ kv }) => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startOAuthServer({ tools: [slow.tool], kv });
  const sign = async (subject: string) => {
    server.provider.subject = subject;
    const { access_token } = await (await Client.register(server)).connect({});
    const headers = { authorization: `Bearer ${access_token}` };
    return () => server.call("tools/call", { name: "slow" }, { headers });
  };
  await testOwners(slow, time, [
    await sign("1"),
    await sign("1"),
    await sign("2"),
  ]);
});

test.inMemory("a call without credentials is repeated by no other session, and from no other network", async ({ kv }) => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool], kv });
  const session = async () => {
    const { call } = await callerOf(server, "2025");
    return () => call("slow");
  };
  const from = (hostname: string, name = "test") => () =>
    new Elsewhere(server, hostname).call("tools/call", { name: "slow" }, {
      meta: { [Meta.clientInfo]: { name, version: "1" } },
    });
  await testOwners(slow, time, [
    await session(),
    await session(),
    from("192.0.2.1"),
    from("198.51.100.1"),
    from("192.0.2.1", "another"),
  ]);
});

/** A server, as the clients of an address reach it. */
class Elsewhere extends Sender {
  constructor(
    private readonly server: TestServer,
    private readonly hostname: string,
  ) {
    super();
  }

  async fetch(path: string, init?: RequestInit): Promise<Response> {
    const { hostname } = this;
    const request = new Request(BASE_URL + path, init);
    return await this.server.app.fetch(request, { remoteAddr: { hostname } });
  }
}

/** Lets each make the same call, which takes long, and then take its own. */
async function testOwners(
  slow: Slow,
  time: FakeTime,
  calls: readonly (() => Promise<Response>)[],
): Promise<void> {
  const answers = [];
  for (const [n, call] of calls.entries()) {
    answers.push(call());
    await slow.started(n + 1);
  }
  for (const handed of await passUntil(time, ...answers)) {
    assert.match(wordsOf(handed), NOT_YET);
  }
  for (const [n, { end }] of slow.runs.entries()) end(n);
  for (const [n, call] of calls.entries()) {
    assert.equal(wordsOf(await resultOf(call())), `result ${n}`);
  }
  assert.equal(slow.runs.length, calls.length);
}

test.inMemory("a long call of a client with tasks is a task, whatever its tool says", async ({ kv }) => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool], kv });
  const call = () =>
    server.call("tools/call", { name: "slow" }, { capabilities: TASKS });
  const answer = call();
  const { end } = await slow.started(1);
  time.tick(45);
  const { resultType, taskId } = await resultOf(answer);
  assert.equal(resultType, "task");
  // Each call of it is a call of its own.
  const other = call();
  (await slow.started(2)).end(2);
  assert.equal(wordsOf(await resultOf(other)), "result 2");
  end(1);
  const get = () =>
    resultOf(server.call("tasks/get", { taskId }, { capabilities: TASKS }));
  await until(async () => (await get()).status === "completed");
});

Deno.test("repeatOf() finds an approved call only by its own token, if that names no client", async () => {
  const named = (tokenId: string, tool: Partial<CompiledTool>) =>
    repeatOf({
      caller: { binding: "ann", tokenId },
      limitKey: { isMany: false },
      client: { info: { name: "app" } },
      params: { name: "pay" },
    } as unknown as LastingCall, tool as CompiledTool);
  assert.equal(await named("1", {}), await named("2", {}));
  const approval = {};
  assert.equal(await named("1", { approval }), await named("1", { approval }));
  assert.notEqual(
    await named("1", { approval }),
    await named("2", { approval }),
  );
});
