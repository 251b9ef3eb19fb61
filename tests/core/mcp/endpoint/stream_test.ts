/** Answers that take their time: streams, disconnects, cancellations. */
import assert from "node:assert/strict";
import type { Context } from "../../../../src/authoring/context.ts";
import { type Tool, tool } from "../../../../src/authoring/tool.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { Events, isStream, messagesOf, resultOf } from "../../../kit/answer.ts";
import type { Json } from "../../../kit/message.ts";
import { startServer, type TestServer } from "../../../kit/server.ts";
import { until } from "../../../kit/wait.ts";
import { CATALOGUE } from "./catalogue.ts";

/** A tool that runs until it is told to end, and the outcome. */
class Slow {
  readonly started = Promise.withResolvers<Context>();
  readonly end = Promise.withResolvers<string>();
  readonly aborted = Promise.withResolvers<unknown>();
  readonly signals: AbortSignal[] = [];
  runs = 0;

  readonly tool: Tool = tool({
    name: "slow",
    run: async (_input, context) => {
      this.runs++;
      this.signals.push(context.signal);
      this.started.resolve(context);
      context.signal.addEventListener("abort", () => {
        this.aborted.resolve(context.signal.reason);
      }, { once: true });
      return await this.end.promise;
    },
  });
}

/** Waits until a stream has ended. */
async function ended(events: Events): Promise<void> {
  for await (const _ of events);
}

const SLOW = { name: "slow" };
const REPORT = { name: "report", _meta: { progressToken: "t" } };

Deno.test("a result that nothing precedes is one JSON object", async () => {
  await using server = await startServer(CATALOGUE);
  const session = await server.openSession();
  const params = { name: "add", arguments: { a: 1, b: 2 } };
  for (
    const response of [
      await session.request("tools/call", params),
      await server.call("tools/call", params),
    ]
  ) {
    assert.equal(response.headers.get("content-type"), "application/json");
    await response.body?.cancel();
  }
});

Deno.test("progress and log messages precede their result on a stream, which then closes", async () => {
  await using server = await startServer(CATALOGUE);
  const session = await server.openSession();
  const response = await session.request("tools/call", REPORT, "r");
  assert.equal(response.status, 200);
  for (
    const [name, value] of [
      ["content-type", "text/event-stream"],
      ["cache-control", "no-cache, no-transform"],
      ["x-accel-buffering", "no"],
      ["access-control-allow-origin", "*"],
    ]
  ) assert.equal(response.headers.get(name), value);
  const messages = await messagesOf(response);
  assert.deepEqual(
    messages.map(({ method, params, id }) => id ?? [method, params]),
    [
      ["notifications/progress", { progressToken: "t", progress: 1, total: 2 }],
      ["notifications/message", { level: "warning", data: "large" }],
      ["notifications/progress", { progressToken: "t", progress: 2, total: 2 }],
      "r",
    ],
  );
  assert.equal(messages[3].result.content[0].text, "done");
});

Deno.test("events have no ids: a stream cannot be resumed", async () => {
  await using server = await startServer(CATALOGUE);
  const session = await server.openSession();
  const response = await session.request("tools/call", REPORT);
  const text = await response.text();
  assert.match(text, /^:\n\nevent: message\ndata: {/);
  assert.doesNotMatch(text, /^(id|retry):/m);
});

Deno.test("progress goes to the token that asked for it, and to no other", async () => {
  await using server = await startServer(CATALOGUE);
  const tokens = (messages: Json[]) =>
    messages.flatMap(({ params }) => params?.progressToken ?? []);
  const call = async (_meta: Record<string, unknown>) =>
    tokens(
      await messagesOf(
        await server.call("tools/call", { name: "report" }, { meta: _meta }),
      ),
    );
  assert.deepEqual(await call({ progressToken: 0 }), [0, 0]);
  assert.deepEqual(await call({}), []);
});

Deno.test("what a tool says after its result is not sent", async () => {
  const late = Promise.withResolvers<void>();
  const leak = tool({
    name: "leak",
    async run(_input, { progress }) {
      await progress(1);
      late.promise.then(() => progress(2));
      return "";
    },
  });
  await using server = await startServer({ tools: [leak] });
  const params = { name: "leak" };
  const meta = { progressToken: 1 };
  const events = new Events(await server.call("tools/call", params, { meta }));
  assert.equal((await events.read()).params.progress, 1);
  assert.equal((await events.read()).id, 1);
  late.resolve();
  assert.equal((await events.next()).done, true);
});

for (const [generation, seconds] of [["2025", 15], ["2026", 1]] as const) {
  Deno.test(`a call of ${generation} becomes a stream after ${seconds} s, a quiet stream gets comments`, async () => {
    using time = new FakeTime();
    const slow = new Slow();
    await using server = await startServer({ tools: [slow.tool], handOver: 0 });
    const answer = await callSlow(server, generation);
    await slow.started.promise;
    time.tick(seconds);
    const events = new Events(await answer.response);
    const last = events.read();
    await until(() => events.comments === 1);
    time.tick(14);
    time.tick(1);
    await until(() => events.comments === 2);
    time.tick(15);
    await until(() => events.comments === 3);
    slow.end.resolve("at last");
    assert.equal((await last).result.content[0].text, "at last");
    await ended(events);
  });
}

Deno.test("a 2025 call that is only slow stays one JSON object", async () => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool] });
  const answer = await callSlow(server, "2025");
  await slow.started.promise;
  const probe = server.call("tools/call", SLOW);
  await until(() => slow.runs === 2);
  time.tick(14);
  // The same beat that opens a stream for 2026 has also looked at the other
  // call.
  const other = new Events(await probe);
  slow.end.resolve("x".repeat(2_000_000));
  const response = await answer.response;
  assert.ok(!isStream(response));
  assert.equal((await response.json()).result.content[0].text.length, 2e6);
  await other.read();
  await ended(other);
});

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`a call of ${generation} that is quick stays one JSON object`, async () => {
    const slow = new Slow();
    await using server = await startServer({ tools: [slow.tool] });
    const answer = await callSlow(server, generation);
    await slow.started.promise;
    slow.end.resolve("soon");
    const response = await answer.response;
    assert.ok(!isStream(response));
    await response.body?.cancel();
  });
}

/** Calls the slow tool; the answer is wrapped, so that it is not awaited. */
async function callSlow(
  server: TestServer,
  generation: "2025" | "2026",
  signal?: AbortSignal,
): Promise<{ response: Promise<Response> }> {
  if (generation === "2026") {
    return { response: server.call("tools/call", SLOW, { signal }) };
  }
  const session = await server.openSession();
  return { response: session.request("tools/call", SLOW) };
}

Deno.test("closing the stream of a 2026 request cancels it", async () => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool] });
  const { response } = await callSlow(server, "2026");
  await slow.started.promise;
  time.tick(1);
  await new Events(await response).close();
  await slow.aborted.promise;
  slow.end.reject(new Error("aborted"));
});

Deno.test("a 2026 client that leaves before its stream has opened cancels too", async () => {
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool] });
  const leave = new AbortController();
  const { response } = await callSlow(server, "2026", leave.signal);
  await slow.started.promise;
  leave.abort();
  await slow.aborted.promise;
  slow.end.resolve("unheard");
  assert.deepEqual(await messagesOf(await response), []);
});

Deno.test("a 2026 client that left while its body was read cancels too", async () => {
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool] });
  const { response } = await callSlow(server, "2026", AbortSignal.abort());
  await slow.aborted.promise;
  slow.end.resolve("unheard");
  assert.deepEqual(await messagesOf(await response), []);
});

Deno.test("a tool that looks for its signal late still finds it fired", async () => {
  using time = new FakeTime();
  const go = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<boolean>();
  const late = tool({
    name: "late",
    async run(_input, context) {
      started.resolve();
      await go.promise;
      seen.resolve(context.signal.aborted);
      return "";
    },
  });
  await using server = await startServer({ tools: [late] });
  const answer = server.call("tools/call", { name: "late" });
  await started.promise;
  time.tick(1);
  await new Events(await answer).close();
  go.resolve();
  assert.equal(await seen.promise, true);
});

Deno.test("a 2025 client that drops its stream cancels nothing", async () => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool] });
  const { response } = await callSlow(server, "2025");
  const { signal } = await slow.started.promise;
  time.tick(15);
  await new Events(await response).close();
  time.tick(1);
  slow.end.resolve("done");
  assert.equal(signal.aborted, false);
});

Deno.test("notifications/cancelled stops a request, which gets no response", async () => {
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool] });
  const session = await server.openSession();
  const answer = session.request("tools/call", SLOW, "a");
  await slow.started.promise;
  const notified = await session.notify("notifications/cancelled", {
    requestId: "a",
    reason: "enough",
  });
  assert.equal(notified.status, 202);
  await slow.aborted.promise;
  slow.end.resolve("unheard");
  assert.deepEqual(await messagesOf(await answer), []);
  // A call in this process is stopped here: no other server has to know.
  const cancellations = await Array.fromAsync(
    server.kv.list({ prefix: ["cancel"] }),
  );
  assert.deepEqual(cancellations, []);
});

Deno.test("a cancellation that lands on another server stops the request", async () => {
  const slow = new Slow();
  await using first = await startServer({ tools: [slow.tool] });
  await using second = await startServer({ tools: [slow.tool], kv: first.kv });
  const session = await first.openSession();
  const answer = session.request("tools/call", SLOW, 7);
  await slow.started.promise;
  await session.at(second).notify("notifications/cancelled", { requestId: 7 });
  await slow.aborted.promise;
  slow.end.resolve("unheard");
  assert.deepEqual(await messagesOf(await answer), []);
});

Deno.test("a cancellation of another id, type or session, and another notification, stop nothing", async () => {
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool] });
  const session = await server.openSession();
  const other = await server.openSession();
  const answer = session.request("tools/call", SLOW, 1);
  const { signal } = await slow.started.promise;
  await session.notify("notifications/cancelled", { requestId: 2 });
  await session.notify("notifications/cancelled", { requestId: "1" });
  await session.notify("notifications/cancelled", {});
  await session.notify("notifications/progress", { requestId: 1 });
  await other.notify("notifications/cancelled", { requestId: 1 });
  assert.equal(signal.aborted, false);
  slow.end.resolve("done");
  assert.equal((await resultOf(answer)).content[0].text, "done");
});

Deno.test("an id that was cancelled may be used again", async () => {
  const slow = new Slow();
  await using server = await startServer({ ...CATALOGUE, tools: [slow.tool] });
  const session = await server.openSession();
  await session.notify("notifications/cancelled", { requestId: 1 });
  // A cancellation and a request in the same millisecond cannot be told apart.
  const now = Date.now();
  await until(() => Date.now() > now);
  const answer = session.request("tools/call", SLOW, 1);
  const { signal } = await slow.started.promise;
  const other = session.request("tools/call", SLOW, 2);
  await until(() => slow.runs === 2);
  await session.notify("notifications/cancelled", { requestId: 2 });
  assert.deepEqual(await messagesOf(await other), []);
  assert.equal(signal.aborted, false);
  slow.end.resolve("done");
  assert.equal((await resultOf(answer)).content[0].text, "done");
});

Deno.test("stop() tells every running tool, and those that begin after it", async () => {
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool] });
  const answer = server.call("tools/call", SLOW);
  await slow.started.promise;
  server.app.stop();
  await slow.aborted.promise;
  const late = server.call("tools/call", SLOW);
  await until(() => slow.runs === 2);
  assert.deepEqual(slow.signals.map(({ aborted }) => aborted), [true, true]);
  slow.end.resolve("done");
  for (const response of [await answer, await late]) {
    assert.equal((await resultOf(response)).content[0].text, "done");
  }
});

Deno.test("a client that stops reading stops the tool that talks", async () => {
  let sent = 0;
  const talk = tool({
    name: "talk",
    async run(_input, { progress, signal }) {
      while (!signal.aborted) await progress(++sent);
      return "";
    },
  });
  await using server = await startServer({ tools: [talk] });
  const response = await server.call("tools/call", { name: "talk" }, {
    meta: { progressToken: 1 },
  });
  let before = -1;
  await until(() => {
    const isStill = sent === before;
    before = sent;
    return isStill;
  });
  assert.ok(sent < 1000, `${sent}`);
  await response.body!.cancel();
});

Deno.test("DELETE of a session ends its calls, through whatever process", async () => {
  using time = new FakeTime();
  const slow = new Slow();
  await using first = await startServer({ tools: [slow.tool] });
  await using second = await startServer({ tools: [slow.tool], kv: first.kv });
  const session = await first.openSession();
  const answer = session.request("tools/call", SLOW);
  await slow.started.promise;
  assert.equal((await session.at(second).end()).status, 202);
  time.tick(2);
  await slow.aborted.promise;
  slow.end.resolve("late");
  await (await answer).body!.cancel();
});

Deno.test("a tool that ignores the end of its session is cut off from it", async () => {
  using time = new FakeTime();
  const slow = new Slow();
  await using server = await startServer({ tools: [slow.tool], handOver: 0 });
  const session = await server.openSession();
  const answer = session.request("tools/call", SLOW);
  await slow.started.promise;
  assert.equal((await session.end()).status, 202);
  let isAnswered = false;
  const messages = answer.then(messagesOf).finally(() => isAnswered = true);
  await until(() => {
    time.tick(2);
    return isAnswered;
  });
  assert.deepEqual((await messages).map(({ error }) => error.message), [
    "The session or permission of this call has ended, or is paused",
  ]);
  assert(slow.signals[0].aborted);
  slow.end.resolve("unheard");
});
