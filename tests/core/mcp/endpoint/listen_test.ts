/** `subscriptions/listen`: changes that are made on any server. */
import assert from "node:assert/strict";
import { prompt } from "../../../../src/authoring/prompt.ts";
import { resource } from "../../../../src/authoring/resource.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { Meta } from "../../../../src/core/protocol/request_meta.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { Events, isStream, refusal, resultOf } from "../../../kit/answer.ts";
import type { Json } from "../../../kit/message.ts";
import { startServer, type TestServer } from "../../../kit/server.ts";
import { until } from "../../../kit/wait.ts";

const touch = tool({
  name: "touch",
  async run(_input, { resourceUpdated, listChanged }) {
    await listChanged("tools");
    await listChanged("prompts");
    await resourceUpdated("notes://other");
    await resourceUpdated("notes://1");
    return "";
  },
});

const DEFINITIONS = {
  tools: [touch],
  prompts: [prompt({ name: "p", get: () => "" })],
  resources: [resource({ uri: "notes://{id}", name: "note", read: () => "" })],
};

function start(kv?: Deno.Kv) {
  return startServer({ ...DEFINITIONS, kv });
}

const ALL = {
  toolsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["notes://1"],
};

async function listen(
  server: TestServer,
  notifications: Json = ALL,
  id: string | number = "s",
  signal?: AbortSignal,
) {
  const params = { notifications };
  const response = await server.call("subscriptions/listen", params, {
    id,
    signal,
  });
  assert.ok(isStream(response));
  assert.equal(response.headers.get("x-accel-buffering"), "no");
  const events = new Events(response);
  return { events, acknowledged: await events.read() };
}

function change(server: TestServer): Promise<Json> {
  return resultOf(server.call("tools/call", { name: "touch" }));
}

const _meta = { [Meta.subscriptionId]: "s" };

Deno.test("the first message acknowledges what is honoured", async () => {
  await using server = await startServer({ tools: [touch] });
  const { events, acknowledged } = await listen(server, {
    ...ALL,
    promptsListChanged: true,
  });
  assert.deepEqual(acknowledged, {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { _meta, notifications: { toolsListChanged: true } },
  });
  await events.close();
});

Deno.test("changes that were asked for arrive, stamped and in order", async () => {
  await using server = await start();
  const { events } = await listen(server);
  await change(server);
  assert.deepEqual([await events.read(), await events.read()], [
    {
      jsonrpc: "2.0",
      method: "notifications/tools/list_changed",
      params: { _meta },
    },
    {
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: { _meta, uri: "notes://1" },
    },
  ]);
  await events.close();
});

Deno.test("changes made on another server arrive", async () => {
  await using first = await start();
  await using second = await start(first.kv);
  const { events } = await listen(first);
  await change(second);
  const { method } = await events.read();
  assert.equal(method, "notifications/tools/list_changed");
  await events.close();
});

Deno.test("several subscriptions are told apart by their ids", async () => {
  await using server = await start();
  const tools = await listen(server, { toolsListChanged: true }, 1);
  const prompts = await listen(server, { promptsListChanged: true }, "1");
  await change(server);
  for (
    const [{ events }, id, list] of [
      [tools, 1, "tools"],
      [prompts, "1", "prompts"],
    ] as const
  ) {
    const { method, params } = await events.read();
    assert.equal(method, `notifications/${list}/list_changed`);
    assert.equal(params._meta[Meta.subscriptionId], id);
    await events.close();
  }
});

Deno.test("a server that stops ends subscriptions with a result", async () => {
  await using server = await start();
  const { events } = await listen(server);
  server.app.stop();
  const { id, result } = await events.read();
  assert.equal(id, "s");
  assert.equal(result.resultType, "complete");
  assert.equal(result._meta[Meta.subscriptionId], "s");
  assert.equal((await events.next()).done, true);
});

Deno.test("endStreams() ends subscriptions and refuses new ones, while calls are answered", async () => {
  await using server = await start();
  const { events } = await listen(server);
  server.app.endStreams();
  assert.equal((await events.read()).result.resultType, "complete");
  assert.equal((await events.next()).done, true);
  const refused = await server.call("subscriptions/listen", {
    notifications: ALL,
  });
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get("retry-after"), "30");
  await refused.body!.cancel();
  assert.ok((await resultOf(server.call("tools/list"))).tools);
});

Deno.test("a client that leaves is forgotten", async () => {
  await using server = await start();
  const staying = await listen(server, ALL, "stays");
  const { events } = await listen(server);
  await events.close();
  const leave = new AbortController();
  await listen(server, ALL, "t", leave.signal);
  leave.abort();
  await change(server);
  const { params } = await staying.events.read();
  assert.equal(params._meta[Meta.subscriptionId], "stays");
  await staying.events.close();
});

Deno.test("a quiet subscription gets comments", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { events } = await listen(server);
  const next = events.next();
  const before = events.comments;
  time.tick(15);
  await until(() => events.comments === before + 1);
  time.tick(15);
  await until(() => events.comments === before + 2);
  server.app.stop();
  await next;
});

Deno.test("a malformed filter is -32602, without a stream", async () => {
  await using server = await start();
  for (const notifications of [undefined, [], { toolsListChanged: 1 }]) {
    const params = { notifications };
    const response = await server.call("subscriptions/listen", params);
    assert.equal(isStream(response), false);
    assert.equal(await refusal(response), "200 -32602");
  }
});

Deno.test("a client that falls a thousand changes behind is let go", async () => {
  await using server = await start();
  const { events } = await listen(server);
  for (let i = 0; i < 1000; i++) await change(server);
  const messages = [];
  for await (const message of events) messages.push(message);
  assert.ok(messages.length < 1000 * 2);
  assert.ok(messages.every(({ id }) => id === undefined));
});
