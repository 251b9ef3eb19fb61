/** The requirements of the 2025 revisions for `/mcp`. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../../src/authoring/tool.ts";
import { BODY_BYTES } from "../../../../src/core/protocol/messages.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { initialize, rpc } from "../../../kit/message.ts";
import {
  messagesOf,
  outcome,
  refusal,
  resultOf,
  textOf,
} from "../../../kit/answer.ts";
import { startServer } from "../../../kit/server.ts";
import { CATALOGUE } from "./catalogue.ts";

function start() {
  return startServer(CATALOGUE);
}

const PING = rpc("ping");

Deno.test("initialize settles on the revision asked for, else the latest", async () => {
  await using server = await start();
  for (
    const [asked, settled] of [
      ["2025-03-26", "2025-03-26"],
      ["2025-06-18", "2025-06-18"],
      ["2025-11-25", "2025-11-25"],
      ["2024-11-05", "2024-11-05"],
      ["2024-10-07", "2025-11-25"],
      ["2026-07-28", "2025-11-25"],
      ["2099-01-01", "2025-11-25"],
    ]
  ) {
    const { protocolVersion } = await resultOf(server.post(initialize(asked)));
    assert.equal(protocolVersion, settled);
  }
});

Deno.test("initialize promises only what is served", async () => {
  await using server = await start();
  const { capabilities } = await resultOf(
    server.post(initialize("2025-11-25")),
  );
  assert.deepEqual(capabilities, {
    tools: {},
    resources: {},
    prompts: {},
    completions: {},
    logging: {},
  });
});

for (
  const [what, params] of Object.entries({
    "a revision": { protocolVersion: undefined },
    "capabilities": { capabilities: undefined },
    "clientInfo": { clientInfo: undefined },
    "the client's version": { clientInfo: { name: "c" } },
    "capabilities that fit a record": { capabilities: { x: "y".repeat(2000) } },
  })
) {
  Deno.test(`initialize without ${what} is refused`, async () => {
    await using server = await start();
    const message = initialize("2025-11-25");
    message.params = { ...message.params as object, ...params };
    const response = await server.post(message);
    assert.equal(response.headers.get("mcp-session-id"), null);
    assert.equal(await refusal(response), "200 -32602");
  });
}

Deno.test("initialize takes a client with large icons and a long name", async () => {
  await using server = await start();
  const message = initialize("2025-11-25");
  const icons = [{ src: `data:image/png;base64,${"A".repeat(100_000)}` }];
  const clientInfo = { name: "c".repeat(100_000), version: "1", icons };
  message.params = { ...message.params as object, clientInfo };
  const response = await server.post(message);
  assert.ok(response.headers.get("mcp-session-id"));
  await response.body?.cancel();
});

Deno.test("a session is served by every server on the same database", async () => {
  await using first = await start();
  await using second = await startServer({ ...CATALOGUE, kv: first.kv });
  const session = await first.openSession();
  assert.deepEqual(await resultOf(session.at(second).post(PING)), {});
  assert.equal((await session.at(second).end()).status, 202);
  assert.equal(await refusal(session.post(PING)), "404 -32001");
});

Deno.test("a session that ended elsewhere is unknown within a second", async () => {
  using time = new FakeTime();
  await using first = await start();
  await using second = await startServer({ ...CATALOGUE, kv: first.kv });
  const session = await first.openSession();
  await resultOf(session.at(second).post(PING));
  await session.end();
  time.tick(1);
  assert.equal(await refusal(session.at(second).post(PING)), "404 -32001");
});

Deno.test("a caller without credentials learns nothing but that", async () => {
  const env = { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "a-secret-of-the-test" };
  await using server = await startServer({ ...CATALOGUE, env });
  for (
    const answer of [
      server.post(PING),
      server.post("{", { "content-type": "text/plain", accept: "text/html" }),
      server.post([PING]),
      server.call("server/discover"),
      server.fetch("/mcp", { method: "DELETE" }),
    ]
  ) {
    const response = await answer;
    assert.equal(response.status, 401);
    assert.match(response.headers.get("www-authenticate")!, /^Bearer/);
    await response.body?.cancel();
  }
  const authorization = "Bearer a-secret-of-the-test";
  const response = server.post(initialize("2025-11-25"), { authorization });
  assert.equal((await outcome(response)).status, 200);
});

Deno.test("what HTTP asks of a POST is checked before the message", async () => {
  await using server = await start();
  const session = await server.openSession();
  const large = " ".repeat(BODY_BYTES) + "{}";
  for (
    const [expected, body, headers] of [
      ["415 -32000", PING, { "content-type": "text/plain" }],
      ["406 -32000", PING, { accept: "application/json" }],
      ["406 -32000", PING, { accept: "text/event-stream" }],
      ["413 -32000", large, {}],
      ["400 -32700", "", {}],
      ["400 -32700", "{", {}],
      ["400 -32700", "{}{}", {}],
      ["400 -32600", "null", {}],
    ] as const
  ) assert.equal(await refusal(session.post(body, headers)), expected);
});

Deno.test("what a stranger sends makes no answer much longer than a refusal", async () => {
  const numbers = tool({
    name: "numbers",
    input: z.object({ list: z.array(z.string()) }),
    run: () => "",
  });
  await using server = await startServer({ ...CATALOGUE, tools: [numbers] });
  const session = await server.openSession();
  const long = "x".repeat(1_000_000);
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const call = (params: string, method = "tools/call") =>
    `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
  const wrong = (count: number) =>
    call(`{"name":"numbers","arguments":{"list":[${Array(count).fill(1)}]}}`);
  for (
    const [expected, body] of [
      ["200 undefined", wrong(9000)],
      ["400 -32600", wrong(2_000_000)],
      ["400 -32600", call(`{"name":"numbers","requestState":${deep}}`)],
      ["400 -32600", call(`{"name":"numbers","arguments":{"a":${deep}}}`)],
      ["200 -32602", call(`{"name":"${long}"}`)],
      ["200 -32602", call(`{"uri":"notes://${long}"}`, "resources/read")],
      ["200 -32602", call(`{"name":"${long}"}`, "prompts/get")],
      ["400 -32600", call("{}", long)],
      ["400 -32600", call(`{"_meta":{"progressToken":"${long}"}}`)],
      ["400 -32600", `{"jsonrpc":"2.0","id":"${long}","method":"ping"}`],
    ] as const
  ) {
    const response = await session.post(body);
    const text = await response.text();
    assert.ok(text.length < 4000, text.slice(0, 200));
    const { error } = JSON.parse(text);
    assert.equal(`${response.status} ${error?.code}`, expected);
  }
});

Deno.test("refusals of a message carry its id where one can be read", async () => {
  await using server = await start();
  const session = await server.openSession();
  const { id } = await outcome(session.post({ id: "a", method: 1 }));
  assert.equal(id, "a");
  assert.equal((await outcome(session.post("{"))).id, undefined);
});

Deno.test('ids 1 and "1" come back as they were sent', async () => {
  await using server = await start();
  const session = await server.openSession();
  for (const id of [1, "1", 0, -1, "", "\0", "</script>", "\ud800"]) {
    for (const method of ["ping", "tools/list", "nothing"]) {
      assert.equal((await outcome(session.request(method, {}, id))).id, id);
    }
  }
});

Deno.test("MCP-Protocol-Version is optional, and refused if it is not spoken", async () => {
  await using server = await start();
  const session = await server.openSession();
  for (const version of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
    const headers = { "mcp-protocol-version": version };
    assert.deepEqual(await resultOf(session.post(PING, headers)), {});
  }
  const headers = { "mcp-protocol-version": "2024-10-07" };
  assert.equal(await refusal(session.post(PING, headers)), "400 -32000");
});

Deno.test("a client that knows 2024-11-05 only gets it, and all but batches", async () => {
  await using server = await start();
  const opened = await server.post(initialize("2024-11-05"));
  const id = opened.headers.get("mcp-session-id")!;
  assert.equal((await resultOf(opened)).protocolVersion, "2024-11-05");
  const headers = { "mcp-session-id": id };
  const { tools } = await resultOf(server.post(rpc("tools/list"), {
    ...headers,
    "mcp-protocol-version": "2024-11-05",
  }));
  assert.ok(tools.length > 0);
  assert.equal(await refusal(server.post([PING], headers)), "400 -32600");
});

Deno.test("initialize opens a session under a 2026 header too", async () => {
  await using server = await start();
  const opened = await server.post(initialize("2025-11-25"), {
    "mcp-protocol-version": "2026-07-28",
  });
  assert.ok(opened.headers.has("mcp-session-id"));
  assert.equal((await resultOf(opened)).protocolVersion, "2025-11-25");
  const claimed = await server.call("initialize", initialize("2025-11-25"));
  assert.equal(await refusal(claimed), "404 -32601");
});

Deno.test("arguments and a cursor of null count as none", async () => {
  await using server = await start();
  const session = await server.openSession();
  const params = { name: "add", arguments: null };
  assert.match(
    await textOf(session.request("tools/call", params)),
    /a: .*number/,
  );
  const listed = session.request("tools/list", { cursor: null });
  assert.ok((await resultOf(listed)).tools.length > 0);
});

Deno.test("a session without the header or with an unknown id is refused", async () => {
  await using server = await start();
  assert.equal(await refusal(server.post(PING)), "400 -32000");
  const headers = { "mcp-session-id": "x" };
  assert.equal(await refusal(server.post(PING, headers)), "404 -32001");
  const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
  assert.equal(await refusal(server.post(notification)), "400 -32000");
  const response = { jsonrpc: "2.0", id: 1, result: {} };
  assert.equal(await refusal(server.post(response)), "400 -32000");
  assert.equal(await refusal(server.post(response, headers)), "404 -32001");
});

Deno.test("a response that answers nothing is accepted and dropped", async () => {
  await using server = await start();
  const session = await server.openSession();
  const response = await session.post({ jsonrpc: "2.0", id: 1, result: {} });
  assert.deepEqual([response.status, response.body], [202, null]);
});

Deno.test("errors of a method travel on HTTP 200", async () => {
  await using server = await start();
  const session = await server.openSession();
  for (
    const [code, method, params] of [
      [-32601, "nonsense", {}],
      [-32601, "server/discover", {}],
      [-32601, "subscriptions/listen", { notifications: {} }],
      [-32601, "tasks/get", { taskId: "a" }],
      [-32602, "tools/call", { name: "none" }],
      [-32602, "tools/call", {}],
      [-32602, "tools/call", { name: "greet", arguments: [] }],
      [-32602, "tools/list", { cursor: "none" }],
      [-32602, "prompts/get", { name: "none" }],
      [-32602, "prompts/get", { name: "review" }],
      [-32602, "resources/read", {}],
      [-32002, "resources/read", { uri: "other://x" }],
      [-32002, "resources/read", { uri: "notes://none" }],
      [-32602, "logging/setLevel", { level: "loud" }],
      [-32602, "completion/complete", { ref: {} }],
    ] as const
  ) {
    const answer = await refusal(session.request(method, params));
    assert.equal(answer, `200 ${code}`, `${method} ${JSON.stringify(params)}`);
  }
});

Deno.test("a resource that does not exist is named in the error", async () => {
  await using server = await start();
  const session = await server.openSession();
  const uri = "notes://none";
  const { error } = await outcome(session.request("resources/read", { uri }));
  assert.deepEqual(error.data, { uri });
});

Deno.test("ping, subscribe and unsubscribe answer {}", async () => {
  await using server = await start();
  const session = await server.openSession();
  const params = { uri: "notes://all" };
  for (
    const method of ["ping", "resources/subscribe", "resources/unsubscribe"]
  ) assert.deepEqual(await resultOf(session.request(method, params)), {});
});

Deno.test("a tool's input, output and failures reach the model", async () => {
  await using server = await start();
  const session = await server.openSession();
  const call = (name: string, args = {}) =>
    resultOf(session.request("tools/call", { name, arguments: args }));
  assert.deepEqual(await call("add", { a: 1, b: 2 }), {
    content: [{ type: "text", text: '{"sum":3}' }],
    structuredContent: { sum: 3 },
  });
  assert.deepEqual(await call("list"), {
    content: [{ type: "text", text: "[1,2]" }],
  });
  assert.deepEqual(await call("fail"), {
    content: [{ type: "text", text: "Try the other door." }],
    isError: true,
  });
  const wrong = await call("greet", { name: 1 });
  assert.equal(wrong.isError, true);
  assert.match(wrong.content[0].text, /^- name: /m);
  for (const name of ["crash", "lie"]) {
    const { isError, content: [{ text }] } = await call(name);
    assert.equal(isError, true);
    assert.match(text, /^Internal error \(reference [\w-]{13,}\)$/);
  }
});

Deno.test("resources are read as text and as bytes", async () => {
  await using server = await start();
  const session = await server.openSession();
  const read = (uri: string) =>
    resultOf(session.request("resources/read", { uri }));
  assert.deepEqual(await read("notes://all"), {
    contents: [{
      uri: "notes://all",
      mimeType: "text/plain",
      text: "everything",
    }],
  });
  assert.deepEqual(await read("notes://1"), {
    contents: [{
      uri: "notes://1",
      mimeType: "application/octet-stream",
      blob: "AQI=",
    }],
  });
});

Deno.test("prompts are got and completed", async () => {
  await using server = await start();
  const session = await server.openSession();
  const got = await resultOf(
    session.request("prompts/get", {
      name: "review",
      arguments: { code: "f" },
    }),
  );
  assert.deepEqual(got, {
    messages: [{ role: "user", content: { type: "text", text: "Review f" } }],
  });
  const completed = await resultOf(
    session.request("completion/complete", {
      ref: { type: "ref/prompt", name: "review" },
      argument: { name: "code", value: "f" },
    }),
  );
  assert.deepEqual(completed, {
    completion: { values: ["f()"], total: 1, hasMore: false },
  });
});

Deno.test("what a prompt throws is an error: its own words, or a reference", async () => {
  await using server = await start();
  const session = await server.openSession();
  const get = (name: string) =>
    outcome(session.request("prompts/get", { name }, "p"));
  assert.deepEqual(await get("fail"), {
    status: 200,
    jsonrpc: "2.0",
    id: "p",
    error: { code: -32603, message: "Try the other door." },
  });
  const { status, error } = await get("crash");
  assert.deepEqual([status, error.code], [200, -32603]);
  assert.match(error.message, /^Internal error \(reference [\w-]{13,}\)$/);
});

Deno.test("every list answers with its members", async () => {
  await using server = await start();
  const session = await server.openSession();
  for (
    const [method, member, length] of [
      ["tools/list", "tools", 8],
      ["resources/list", "resources", 1],
      ["resources/templates/list", "resourceTemplates", 1],
      ["prompts/list", "prompts", 3],
    ] as const
  ) {
    const result = await resultOf(session.request(method));
    assert.deepEqual(Object.keys(result), [member]);
    assert.equal(result[member].length, length);
  }
});

Deno.test("logging/setLevel is remembered, on every server", async () => {
  using time = new FakeTime();
  await using first = await start();
  await using second = await startServer({ ...CATALOGUE, kv: first.kv });
  const session = await first.openSession();
  const heard = async (server = first) => {
    const response = await session.at(server).request("tools/call", {
      name: "report",
    });
    return (await messagesOf(response)).flatMap(({ params }) =>
      params?.level ?? []
    );
  };
  assert.deepEqual(await heard(), ["warning"]);
  await resultOf(session.request("logging/setLevel", { level: "debug" }));
  assert.deepEqual(await heard(), ["debug", "warning"]);
  time.tick(1);
  assert.deepEqual(await heard(second), ["debug", "warning"]);
  await resultOf(session.request("logging/setLevel", { level: "error" }));
  assert.deepEqual(await heard(), []);
});
