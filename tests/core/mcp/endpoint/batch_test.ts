/** Batches, which only 2025-03-26 has. */
import assert from "node:assert/strict";
import { HttpError } from "../../../../src/core/errors.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { Events, isStream, messagesOf, refusal } from "../../../kit/answer.ts";
import { initialize, type Json, rpc } from "../../../kit/message.ts";
import { kvThrough } from "../../../kit/kv.ts";
import { startServer } from "../../../kit/server.ts";
import { until } from "../../../kit/wait.ts";
import { CATALOGUE } from "./catalogue.ts";

async function start() {
  const server = await startServer(CATALOGUE);
  return {
    server,
    session: await server.openSession({ revision: "2025-03-26" }),
  };
}

const NOTIFICATION = { jsonrpc: "2.0", method: "notifications/initialized" };

function call(name: string, id: number, progressToken?: string) {
  return rpc("tools/call", { name, _meta: { progressToken } }, id);
}

/** Groups results and errors by id. */
function byId(messages: Json[]): Record<string, Json> {
  return Object.fromEntries(
    messages.map(({ id, result, error }) => [id, result ?? error.code]),
  );
}

Deno.test("a batch is answered by an array, without its notifications", async () => {
  const { server, session } = await start();
  await using _ = server;
  const response = await session.post([
    rpc("ping", {}, 1),
    NOTIFICATION,
    rpc("nonsense", {}, 2),
    rpc("ping", {}, "1"),
    { jsonrpc: "2.0", id: 3, method: 4 },
    rpc("tools/list", {}, 5),
  ]);
  assert.equal(response.status, 200);
  const answers: Json[] = await response.json();
  assert.equal(answers.length, 5);
  const { 2: second, 3: third, 5: fifth } = byId(answers);
  assert.deepEqual([second, third], [-32601, -32600]);
  assert.equal(fifth.tools.length, 8);
  assert.deepEqual(
    answers.filter(({ id }) => String(id) === "1").map(({ id }) => typeof id)
      .sort(),
    ["number", "string"],
  );
});

Deno.test("a batch of notifications and responses is 202 without a body", async () => {
  const { server, session } = await start();
  await using _ = server;
  const response = await session.post([
    NOTIFICATION,
    { jsonrpc: "2.0", id: 1, result: {} },
  ]);
  assert.deepEqual([response.status, response.body], [202, null]);
});

Deno.test("a batch of nothing but a broken message is answered", async () => {
  const { server, session } = await start();
  await using _ = server;
  const response = await session.post([{ jsonrpc: "2.0", id: 3, method: 4 }]);
  assert.deepEqual(byId(await response.json()), { 3: -32600 });
});

Deno.test("initialize is refused within a batch", async () => {
  const { server, session } = await start();
  await using _ = server;
  const response = await session.post([initialize("2025-03-26")]);
  assert.deepEqual(byId(await response.json()), { 1: -32600 });
});

Deno.test("an empty batch, one without a session, and one of a later revision are refused", async () => {
  const { server, session } = await start();
  await using _ = server;
  assert.equal(await refusal(session.post([])), "400 -32600");
  assert.equal(await refusal(server.post([rpc("ping")])), "400 -32000");
  for (const revision of ["2025-06-18", "2025-11-25"]) {
    const later = await server.openSession({ revision });
    assert.equal(await refusal(later.post([rpc("ping")])), "400 -32600");
  }
});

Deno.test("a batch of more than a hundred messages is refused", async () => {
  const { server, session } = await start();
  await using _ = server;
  const pings = Array.from({ length: 101 }, (_, id) => rpc("ping", {}, id));
  assert.equal(await refusal(session.post(pings)), "400 -32600");
  const response = await session.post(pings.slice(1));
  assert.equal((await response.json()).length, 100);
});

Deno.test("each call of a batch counts for its part of a long message", async () => {
  const junk = "x".repeat(40_000);
  const wait = tool({ name: "wait", run: () => Promise.resolve("done") });
  await using server = await startServer({ tools: [wait] });
  const session = await server.openSession({ revision: "2025-03-26" });
  const response = await session.post(
    Array.from(
      { length: 100 },
      (_, id) => rpc("tools/call", { name: "wait", arguments: { junk } }, id),
    ),
  );
  const answers: Json[] = await response.json();
  assert.equal(answers.length, 100);
  assert(answers.every(({ result }) => result.content[0].text === "done"));
});

Deno.test("a batch becomes a stream when something precedes a result", async () => {
  const { server, session } = await start();
  await using _ = server;
  const response = await session.post([
    call("report", 1, "one"),
    rpc("ping", {}, 2),
    call("report", 3, "three"),
  ]);
  assert.ok(isStream(response));
  const messages = await messagesOf(response);
  const results = messages.filter(({ id }) => id !== undefined);
  assert.deepEqual(Object.keys(byId(results)), ["1", "2", "3"]);
  for (const token of ["one", "three"]) {
    const steps = messages.flatMap(({ params }) =>
      params?.progressToken === token ? params.progress : []
    );
    assert.deepEqual(steps, [1, 2]);
  }
});

Deno.test("a batch that becomes a stream late has what was answered before on it too", async () => {
  const answered = Promise.withResolvers<void>();
  const quick = tool({
    name: "quick",
    run() {
      // After everything that follows its result.
      setTimeout(answered.resolve, 0);
      return "";
    },
  });
  const late = tool({
    name: "late",
    run: (_input, { progress }) =>
      answered.promise.then(() => progress(1)).then(() => ""),
  });
  await using server = await startServer({ tools: [quick, late] });
  const session = await server.openSession({ revision: "2025-03-26" });
  const messages = await messagesOf(
    await session.post([call("quick", 1), call("late", 2, "t")]),
  );
  assert.deepEqual(messages.map(({ id }) => id), [undefined, 2, 1]);
});

Deno.test("nothing of a message follows its result in a batch", async () => {
  const late = Promise.withResolvers<void>();
  const leak = tool({
    name: "leak",
    run(_input, { progress }) {
      late.promise.then(() => progress(2));
      return progress(1).then(() => "");
    },
  });
  const wait = tool({ name: "wait", run: () => late.promise.then(() => "") });
  await using server = await startServer({ tools: [leak, wait] });
  const session = await server.openSession({ revision: "2025-03-26" });
  const events = new Events(
    await session.post([call("leak", 1, "t"), call("wait", 2)]),
  );
  assert.equal((await events.read()).params.progress, 1);
  assert.equal((await events.read()).id, 1);
  late.resolve();
  assert.equal((await events.read()).id, 2);
  assert.equal((await events.next()).done, true);
});

Deno.test("a quiet batch gets a comment now and then, and no more", async () => {
  using time = new FakeTime();
  const end = Promise.withResolvers<string>();
  const wait = tool({
    name: "wait",
    run: (_input, { progress }) => progress(1).then(() => end.promise),
  });
  await using server = await startServer({ tools: [wait] });
  const session = await server.openSession({ revision: "2025-03-26" });
  const events = new Events(
    await session.post([call("wait", 1, "a"), call("wait", 2, "b")]),
  );
  for (const _ of ["a", "b"]) await events.read();
  const last = events.next();
  assert.equal(events.comments, 1);
  time.tick(15);
  await until(() => events.comments > 1);
  end.resolve("");
  await last;
  for await (const _ of events);
  assert.equal(events.comments, 2);
});

Deno.test("a request of a batch can be cancelled", async () => {
  const started = Promise.withResolvers<void>();
  const hang = tool({
    name: "hang",
    run(_input, { signal }) {
      started.resolve();
      return new Promise<string>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason))
      );
    },
  });
  await using server = await startServer({ tools: [hang] });
  const session = await server.openSession({ revision: "2025-03-26" });
  const response = session.post([call("hang", 1), rpc("ping", {}, 2)]);
  await started.promise;
  await session.notify("notifications/cancelled", { requestId: 1 });
  assert.deepEqual(byId(await (await response).json()), { 2: {} });
});

Deno.test("a batch whose requests are all cancelled is answered by no array", async () => {
  const started = Promise.withResolvers<void>();
  const hang = tool({
    name: "hang",
    run() {
      started.resolve();
      return new Promise<string>(() => {});
    },
  });
  await using server = await startServer({ tools: [hang] });
  const session = await server.openSession({ revision: "2025-03-26" });
  const response = session.post([call("hang", 1)]);
  await started.promise;
  await session.notify("notifications/cancelled", { requestId: 1 });
  assert(isStream(await response));
  assert.deepEqual(await messagesOf(await response), []);
});

Deno.test("a batch whose answer cannot be kept is refused, and may be sent again", async () => {
  using real = await Deno.openKv(":memory:");
  let isDown = false;
  const kv = kvThrough(real, (operation, key) => {
    if (isDown && key?.flat()[0] === "reply") throw new Error("no database");
    return operation();
  });
  const where = tool({
    name: "where",
    run: async (_input, { roots }) => `${(await roots()).length} roots`,
  });
  await using server = await startServer({ tools: [where], kv });
  const session = await server.openSession({
    revision: "2025-03-26",
    capabilities: { roots: {} },
  });
  const events = new Events(await session.post([call("where", 1)]));
  const { id } = await events.read();
  const answer = { jsonrpc: "2.0", id, result: { roots: [] } };
  const post = (messages: Json[]) => session.post(messages);
  isDown = true;
  const refused = await post([NOTIFICATION, answer]);
  assert.equal(refused.status, 503);
  assert.notEqual(refused.headers.get("retry-after"), null);
  await refused.body?.cancel();
  // Beside a request it gets no answer, because its id is one of ours.
  const beside = await post([answer, rpc("ping", {}, 7)]);
  assert.deepEqual(byId(await beside.json()), { 7: {} });
  isDown = false;
  assert.equal((await post([NOTIFICATION, answer])).status, 202);
  assert.equal((await events.read()).result.content[0].text, "0 roots");
  assert.equal((await events.next()).done, true);
});

Deno.test("a question of a batch may be answered in a batch", async () => {
  const where = tool({
    name: "where",
    run: async (_input, { roots }) => `${(await roots()).length} roots`,
  });
  await using server = await startServer({ tools: [where] });
  const session = await server.openSession({
    revision: "2025-03-26",
    capabilities: { roots: {} },
  });
  const events = new Events(await session.post([call("where", 1)]));
  const { id, method } = await events.read();
  assert.equal(method, "roots/list");
  const answer = { jsonrpc: "2.0", id, result: { roots: [] } };
  assert.equal((await session.post([answer, NOTIFICATION])).status, 202);
  assert.equal((await events.read()).result.content[0].text, "0 roots");
  assert.equal((await events.next()).done, true);
});

Deno.test("what HTTP has a word for is an error in words in a batch", async () => {
  const away = tool({
    name: "away",
    run: () => {
      throw new HttpError(503, "It is away");
    },
  });
  await using server = await startServer({ tools: [away] });
  const session = await server.openSession({ revision: "2025-03-26" });
  const response = await session.post([
    rpc("tools/call", { name: "away" }, 1),
    rpc("tools/call", { name: "away" }, 2),
  ]);
  assert.equal(response.status, 200);
  for (const { result } of await response.json()) {
    assert.equal(result.isError, true);
    assert.equal(
      result.content[0].text,
      "It is away. Send the request again in 5 s",
    );
  }
});

Deno.test("what is no message is refused in a batch, and the others are served", async () => {
  const { server, session } = await start();
  await using _ = server;
  const response = await session.post([null, rpc("ping", {}, 2)]);
  assert.deepEqual(byId(await response.json()), { undefined: -32600, 2: {} });
});
