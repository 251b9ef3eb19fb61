/** The limits of callers, end to end. */
import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../src/authoring/prompt.ts";
import { resource } from "../../src/authoring/resource.ts";
import { tool, type ToolLimit } from "../../src/authoring/tool.ts";
import type { ConnectionInfo } from "../../src/core/http/client_address.ts";
import {
  MAX_CALLS_PER_CALLER,
  MAX_SUBSCRIPTIONS_PER_CALLER,
} from "../../src/core/mcp/exchange/running.ts";
import {
  MAX_TASKS_KEPT,
  MAX_TASKS_PER_CALLER,
} from "../../src/features/work/task_registry.ts";
import { MANY_FACTOR } from "../../src/core/mcp/exchange/limits.ts";
import { Database } from "../../src/core/kv/database.ts";
import { tasksOfKey } from "../../src/core/kv/keys.ts";
import { RUNNING_SECONDS } from "../../src/features/work/task_record.ts";
import { taskStore } from "../../src/features/work/tasks.ts";
import {
  BASE_URL,
  Sender,
  startServer,
  type TestServer,
} from "../kit/server.ts";
import { Events, messagesOf, resultOf, statusOf } from "../kit/answer.ts";
import {
  type HeadersOf,
  initialize,
  type Json,
  rpc,
  statelessMeta,
} from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { Client } from "../kit/client.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../kit/sign_in.ts";

const echoWith = (limit?: ToolLimit) =>
  tool({ name: "echo", limit, run: () => "here" });
const echo = echoWith();
const other = tool({ name: "other", run: () => "there" });
const resources = [
  resource({ uri: "note://1", name: "note", read: () => "note" }),
];
const prompts = [
  prompt({
    name: "say",
    args: z.object({ topic: z.string() }),
    complete: { topic: () => ["a"] },
    get: () => "say",
  }),
];
const capabilities = {
  elicitation: {},
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

function start(
  callsPerMinute: number,
  { tools = [echo, other], ...options }: OAuthServerOptions = {},
): Promise<OAuthServer> {
  return startOAuthServer({
    tools,
    resources,
    prompts,
    ...options,
    environment: { CALLS_PER_MINUTE: String(callsPerMinute) },
  });
}

async function signIn(server: OAuthServer, as = "42"): Promise<HeadersOf> {
  server.provider.subject = as;
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  return { authorization: `Bearer ${access_token}` };
}

type Call = (method: string, params?: Json) => Promise<Response>;

async function callersOf(server: TestServer, headers: HeadersOf) {
  const { headers: session } = await server.openSession({ headers });
  const calls: Record<string, Call> = {
    "2025": (method, params = {}) => server.post(rpc(method, params), session),
    "2026": (method, params = {}) =>
      server.call(method, params, { headers, capabilities }),
  };
  return calls;
}

const run = (name: string) => ({ name, arguments: {} });

/** Reads the text of a tool's result, and if it is a success. */
async function wordsOf(answer: Promise<Response>): Promise<[string, boolean]> {
  const { content, isError = false } = await resultOf(answer);
  return [content[0].text, !isError];
}

const REFUSED = /^Too many .*: try again in \d+ seconds?$/;

for (const generation of ["2025", "2026"]) {
  Deno.test(`a ${generation} caller with too many calls a minute is told when to try again, and can`, async () => {
    using time = new FakeTime();
    await using server = await start(3);
    const call = (await callersOf(server, await signIn(server)))[generation];
    for (let count = 0; count < 3; count++) {
      const [words] = await wordsOf(call("tools/call", run("echo")));
      assert.equal(words, "here");
    }
    const response = await call("tools/call", run("echo"));
    assert.equal(response.status, 200);
    assert.deepEqual(await wordsOf(Promise.resolve(response)), [
      "Too many calls a minute: try again in 20 seconds",
      false,
    ]);
    for (
      const [method, params] of [
        ["resources/read", { uri: "note://1" }],
        ["prompts/get", { name: "say", arguments: { topic: "x" } }],
        ["completion/complete", {
          ref: { type: "ref/prompt", name: "say" },
          argument: { name: "topic", value: "" },
        }],
      ] as const
    ) {
      const refused = await call(method, params);
      assert.equal(refused.status, 429, method);
      assert.equal(refused.headers.get("retry-after"), "20");
      const { error, id } = await refused.json();
      assert.match(error.message, REFUSED);
      assert.equal(typeof error.code, "number");
      assert.equal(id, 1);
    }
    // Cheap methods are not counted.
    const { tools } = await resultOf(call("tools/list"));
    assert.deepEqual([tools[0].name, tools[1].name], ["echo", "other"]);
    time.tick(19);
    assert.equal((await wordsOf(call("tools/call", run("echo"))))[1], false);
    time.tick(1);
    assert.deepEqual(await wordsOf(call("tools/call", run("echo"))), [
      "here",
      true,
    ]);
  });
}

Deno.test("a person has one limit, whichever clients they use, and shares it with no one", async () => {
  using _time = new FakeTime();
  await using server = await start(2);
  const isServed = async (headers: HeadersOf) =>
    (await wordsOf(server.call("tools/call", run("echo"), { headers })))[1];
  const first = await signIn(server);
  const second = await signIn(server);
  assert(await isServed(first));
  assert(await isServed(second));
  assert.equal(await isServed(first), false);
  assert.equal(await isServed(second), false);
  assert(await isServed(await signIn(server, "43")));
});

Deno.test("a caller has one limit in all processes, minute after minute", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");

  await using server = await start(6, { kv });
  await using twin = await start(6, { kv });
  const headers = await signIn(server);
  const servedBy = async (at: TestServer, count: number) => {
    const calls = Array.from(
      { length: count },
      async () =>
        (await wordsOf(at.call("tools/call", run("echo"), { headers })))[1],
    );
    return (await Promise.all(calls)).filter(Boolean).length;
  };
  for (let minute = 0; minute < 3; minute++) {
    assert.equal(await servedBy(server, 5), 5);
    assert.equal(await servedBy(twin, 6), 1);
    time.tick(60);
  }
});

Deno.test("0 calls a minute is no limit", async () => {
  await using server = await start(0);
  const headers = await signIn(server);
  for (let count = 0; count < 20; count++) {
    const answer = server.call("tools/call", run("echo"), { headers });
    assert((await wordsOf(answer))[1]);
  }
});

/** Makes a call from an address. */
function callFrom(
  server: TestServer,
  hostname: string | undefined,
  headers?: HeadersOf,
): Promise<boolean> {
  const remoteAddr = hostname === undefined ? undefined : { hostname };
  return callWith(server, { remoteAddr }, headers);
}

async function callWith(
  server: TestServer,
  info: ConnectionInfo,
  headers: HeadersOf = {},
): Promise<boolean> {
  const params = { ...run("echo"), _meta: statelessMeta() };
  const request = new Request(`${BASE_URL}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "echo",
      ...headers,
    },
    body: JSON.stringify(rpc("tools/call", params)),
  });
  const response = server.app.fetch(request, info);
  return (await wordsOf(Promise.resolve(response)))[1];
}

for (
  const [who, env, headers] of [
    ["who hold one credential", {
      AUTH_STRATEGY: "bearer",
      BEARER_TOKEN: "the-only-secret-token",
    }, { authorization: "Bearer the-only-secret-token" }],
    ["who hold one key", {
      AUTH_STRATEGY: "api_key",
      API_KEY: "the-only-secret-key",
    }, { "x-api-key": "the-only-secret-key" }],
    ["who present nothing", {
      AUTH_STRATEGY: "bearer",
      BEARER_TOKEN: "the-only-secret-token",
      AUTH_ANONYMOUS: "true",
    }, {}],
    ["whom no one asks", {}, {}],
  ] as [string, HeadersOf, HeadersOf][]
) {
  Deno.test(`people ${who} are limited by their network, and have ten times as much`, async () => {
    using _time = new FakeTime();
    await using server = await startServer({
      tools: [echo],
      env: { ...env, CALLS_PER_MINUTE: "1" },
    });
    for (let count = 0; count < 10; count++) {
      assert(await callFrom(server, "192.0.2.1", headers));
    }
    assert.equal(await callFrom(server, "192.0.2.1", headers), false);
    assert(await callFrom(server, "192.0.2.2", headers));
  });
}

Deno.test("people who present nothing open a tenth as many sessions as they may make calls", async () => {
  using _time = new FakeTime();
  await using server = await startServer({
    tools: [echo],
    env: { CALLS_PER_MINUTE: "1" },
  });
  const open = async (hostname: string) => {
    const request = new Request(`${BASE_URL}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify(initialize("2025-11-25")),
    });
    const response = await server.app.fetch(request, {
      remoteAddr: { hostname },
    });
    await response.body?.cancel();
    return [response.status, response.headers.get("retry-after")];
  };
  assert.deepEqual(await open("192.0.2.1"), [200, null]);
  assert.deepEqual(await open("192.0.2.1"), [429, "60"]);
  assert.deepEqual(await open("192.0.2.2"), [200, null]);
});

/** A server, called from a network. */
class From extends Sender {
  constructor(
    private readonly server: TestServer,
    private readonly hostname: string,
  ) {
    super();
  }

  async fetch(path: string, init?: RequestInit): Promise<Response> {
    return await this.server.app.fetch(new Request(BASE_URL + path, init), {
      remoteAddr: { hostname: this.hostname },
    });
  }

  /** Begins a task and tells its answer. */
  async begin(): Promise<string> {
    const { resultType, content } = await resultOf(
      this.call("tools/call", run("quick"), { capabilities }),
    );
    return content ? content[0].text : resultType;
  }
}

const quick = tool({ name: "quick", task: "required", run: () => "done" });

Deno.test("so many tasks of a network are kept for a day, whichever process begins them", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");
  const options = { kv, tools: [quick], env: { CALLS_PER_MINUTE: "0" } };
  await using first = await startServer(options);
  await using second = await startServer(options);
  assert.equal(await new From(first, "192.0.2.1").begin(), "task");
  const lists = Array.from(
    { length: MANY_FACTOR },
    (_, list) => tasksOfKey(`network 4:c0000201 ${list}`),
  );
  const [{ key, value }] = await Array.fromAsync(
    kv.list({ prefix: ["task-of"] }),
  );
  assert(lists.some(([, list]) => list === key[1]));
  // As if the most possible tasks had been created.
  for (const list of lists) {
    for (let count = 0; count < MAX_TASKS_KEPT; count += 500) {
      const operation = kv.atomic();
      for (let id = count; id < count + 500; id++) {
        operation.set([...list, `${id}`], value);
      }
      await operation.commit();
    }
  }
  for (const server of [first, second]) {
    assert.match(
      await new From(server, "192.0.2.1").begin(),
      /^Too many stored tasks: try again in/,
    );
    assert.equal(await new From(server, "192.0.2.2").begin(), "task");
  }
  time.tick(RUNNING_SECONDS);
  assert.equal(await new From(second, "192.0.2.1").begin(), "task");
});

Deno.test("where a call comes from is asked once, while its client is there", async () => {
  const slow = tool({
    name: "echo",
    run: async () => await Promise.resolve("here"),
  });
  await using server = await startServer({ tools: [slow] });
  for (const hostname of ["127.0.0.1", "192.0.2.1"]) {
    let count = 0;
    const info = {
      get remoteAddr() {
        if (count++ > 0) throw new TypeError("Request closed");
        return { hostname };
      },
    };
    await callWith(server, info);
    assert.equal(count, 1);
  }
});

Deno.test("people who present nothing and come from nowhere have one limit, a hundred times as much", async () => {
  using _time = new FakeTime();
  await using server = await startServer({
    tools: [echo],
    env: { CALLS_PER_MINUTE: "1" },
  });
  const peers = ["127.0.0.1", undefined];
  for (let count = 0; count < 100; count++) {
    assert(await callFrom(server, peers[count % 2]));
  }
  for (const peer of peers) assert.equal(await callFrom(server, peer), false);
  assert(await callFrom(server, "192.0.2.1"));
});

Deno.test("a tool's limit of calls a minute is each caller's own, and of that tool alone", async () => {
  using time = new FakeTime();
  await using server = await start(0, {
    tools: [echoWith({ callsPerMinute: 1 }), other],
  });
  const call = async (name: string, headers: HeadersOf) =>
    await wordsOf(server.call("tools/call", run(name), { headers }));
  const [ada, bob] = [await signIn(server), await signIn(server, "43")];
  assert.deepEqual(await call("echo", ada), ["here", true]);
  assert.deepEqual(await call("echo", ada), [
    "Too many calls to echo a minute: try again in 60 seconds",
    false,
  ]);
  assert.deepEqual(await call("other", ada), ["there", true]);
  assert.deepEqual(await call("echo", bob), ["here", true]);
  time.tick(60);
  assert.deepEqual(await call("echo", ada), ["here", true]);
});

Deno.test("a shared limit of a tool is one for all callers, known or not", async () => {
  using _time = new FakeTime();
  const limit = { callsPerMinute: 2, shared: true };
  await using server = await start(0, { tools: [echoWith(limit)] });
  const call = async (headers: HeadersOf) =>
    (await wordsOf(server.call("tools/call", run("echo"), { headers })))[1];
  const [ada, bob] = [await signIn(server), await signIn(server, "43")];
  assert.deepEqual(
    [await call(ada), await call(bob), await call(ada), await call(bob)],
    [true, true, false, false],
  );
  await using open = await startServer({ tools: [echoWith(limit)] });
  const served = [];
  for (let count = 0; count < 3; count++) {
    served.push((await wordsOf(open.call("tools/call", run("echo"))))[1]);
  }
  assert.deepEqual(served, [true, true, false]);
});

Deno.test("a tool's limit of calls at once counts what is under way, in tasks too", async () => {
  const gate = Promise.withResolvers<void>();
  const started: string[] = [];
  const slow = (name: string, task?: "required") =>
    tool({
      name,
      task,
      limit: { callsAtOnce: 2 },
      async run() {
        started.push(name);
        await gate.promise;
        return "done";
      },
    });
  await using server = await start(0, {
    tools: [slow("slow"), slow("long", "required")],
  });
  const headers = await signIn(server);
  const call = (name: string) =>
    server.call("tools/call", run(name), { headers, capabilities });
  const slows = [call("slow"), call("slow")];
  const tasks = await Promise.all([1, 2].map(() => resultOf(call("long"))));
  await until(() => started.length === 4);
  for (const name of ["slow", "long"]) {
    assert.deepEqual(await wordsOf(call(name)), [
      `Too many calls to ${name} at a time: try again in 5 seconds`,
      false,
    ]);
  }
  gate.resolve();
  for (const answer of slows) {
    assert.deepEqual(await wordsOf(answer), ["done", true]);
  }
  for (const { taskId } of tasks) {
    await until(async () => {
      const { status } = await resultOf(
        server.call("tasks/get", { taskId }, { headers, capabilities }),
      );
      return status === "completed";
    });
  }
  assert.deepEqual(await wordsOf(call("slow")), ["done", true]);
  assert.equal((await resultOf(call("long"))).resultType, "task");
});

Deno.test("a caller has so many calls under way, and others have theirs", async () => {
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  const wait = tool({
    name: "wait",
    async run() {
      waiting++;
      await gate.promise;
      return "done";
    },
  });
  await using server = await start(0, { tools: [wait, echo] });
  const [ada, bob] = [await signIn(server), await signIn(server, "43")];
  const call = (name: string, headers: HeadersOf) =>
    server.call("tools/call", run(name), { headers });
  const calls = Array.from(
    { length: MAX_CALLS_PER_CALLER },
    () => call("wait", ada),
  );
  await until(() => waiting === MAX_CALLS_PER_CALLER);
  assert.deepEqual(await wordsOf(call("echo", ada)), [
    "Too many calls at a time: try again in 5 seconds",
    false,
  ]);
  assert.deepEqual(await wordsOf(call("echo", bob)), ["here", true]);
  gate.resolve();
  for (const answer of calls) assert((await wordsOf(answer))[1]);
  assert.deepEqual(await wordsOf(call("echo", ada)), ["here", true]);
});

Deno.test("a caller has 32 MiB of long messages under way, in tasks too, and others have theirs", async () => {
  const gate = Promise.withResolvers<void>();
  const wait = tool({
    name: "wait",
    task: "optional",
    async run() {
      await gate.promise;
      return "done";
    },
  });
  await using server = await start(0, { tools: [wait, echo] });
  const [ada, bob] = [await signIn(server), await signIn(server, "43")];
  const call = (
    name: string,
    headers: HeadersOf,
    knows?: typeof capabilities,
  ) =>
    server.call("tools/call", {
      name,
      arguments: { junk: "x".repeat(4 * 1024 * 1024 - 1000) },
    }, { headers, capabilities: knows });
  const calls = Array.from({ length: 4 }, () => call("wait", ada));
  const tasks = await Promise.all(
    Array.from(
      { length: 4 },
      () => resultOf(call("wait", ada, capabilities)),
    ),
  );
  assert(tasks.every(({ resultType }) => resultType === "task"));
  // The other calls are under way, with any answer.
  await until(async () => !(await wordsOf(call("echo", ada)))[1]);
  assert.deepEqual(await wordsOf(call("echo", ada)), [
    "Too many long messages at a time: try again in 5 seconds",
    false,
  ]);
  const short = server.call("tools/call", run("echo"), { headers: ada });
  assert.deepEqual(await wordsOf(short), ["here", true]);
  assert.deepEqual(await wordsOf(call("echo", bob)), ["here", true]);
  gate.resolve();
  for (const answer of calls) assert((await wordsOf(answer))[1]);
  await until(async () => (await wordsOf(call("echo", ada)))[1]);
});

Deno.test("a subscription is refused by 413 where its message is longer than it can sensibly be", async () => {
  await using server = await start(0);
  const headers = await signIn(server);
  const listen = (junk: number) =>
    server.call("subscriptions/listen", {
      notifications: { toolsListChanged: true },
      junk: "x".repeat(junk),
    }, { headers });
  assert.equal(await statusOf(listen(250_000)), 200);
  assert.equal(await statusOf(listen(300_000)), 413);
});

Deno.test("a caller has so many subscriptions open, and is refused one more by 429", async () => {
  await using server = await start(0);
  const headers = await signIn(server);
  const listen = (caller = headers) =>
    server.call("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    }, { headers: caller });
  const open = [];
  for (let count = 0; count < MAX_SUBSCRIPTIONS_PER_CALLER; count++) {
    const events = new Events(await listen());
    await events.read();
    open.push(events);
  }
  const refused = await listen();
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("retry-after"), "5");
  assert.match((await refused.json()).error.message, REFUSED);
  const others = await signIn(server, "43");
  assert.equal(await statusOf(listen(others)), 200);
  for (const events of open) await events.close();
  await until(async () => await statusOf(listen()) === 200);
});

Deno.test("a caller is asked so many questions at a time, and a run that asks more ends", async () => {
  let hasGoneOn = false;
  const survey = tool({
    name: "survey",
    async run(_, { ask }) {
      const schema = z.object({ yes: z.boolean() });
      await Promise.allSettled(
        Array.from({ length: 101 }, () => ask({ message: "Well?", schema })),
      );
      hasGoneOn = true;
      return "done";
    },
  });
  await using server = await start(0, { tools: [survey] });
  const headers = await signIn(server);
  const session = await server.openSession({ headers, capabilities });
  const messages = await messagesOf(
    await session.request("tools/call", run("survey"), "call"),
  );
  const { result } = messages.find(({ id }) => id === "call")!;
  assert.equal(
    result.content[0].text,
    "Too many open questions: try again in 5 seconds",
  );
  assert(result.isError);
  assert.equal(hasGoneOn, false);
});

Deno.test("a caller has so many tasks under way, and a task that ends makes room", async () => {
  const gate = Promise.withResolvers<void>();
  const long = tool({
    name: "long",
    task: "required",
    async run(_, { signal }) {
      signal.addEventListener("abort", () => gate.resolve(), { once: true });
      await gate.promise;
      return "done";
    },
  });
  await using server = await start(0, { tools: [long] });
  const headers = await signIn(server);
  const call = () =>
    resultOf(server.call("tools/call", run("long"), { headers, capabilities }));
  const tasks = await Promise.all(
    Array.from({ length: MAX_TASKS_PER_CALLER }, call),
  );
  assert(tasks.every(({ resultType }) => resultType === "task"));
  const { content, isError } = await call();
  assert(isError);
  assert.equal(
    content[0].text,
    "Too many tasks at a time: try again in 5 seconds",
  );
  await resultOf(
    server.call("tasks/cancel", { taskId: tasks[0].taskId }, {
      headers,
      capabilities,
    }),
  );
  await until(async () => (await call()).resultType === "task");
  gate.resolve();
});

Deno.test("so many tasks of a person are kept for a day, and no more begin", async () => {
  await using server = await start(0, { tools: [quick] });
  const headers = await signIn(server);
  const call = () =>
    resultOf(
      server.call("tools/call", run("quick"), { headers, capabilities }),
    );
  assert.equal((await call()).resultType, "task");
  const [{ key }] = await Array.fromAsync(
    server.kv.list({ prefix: ["task-of"] }),
  );
  const binding = JSON.stringify([BASE_URL, `${BASE_URL}/mcp`, "github:42"]);
  const tasks = taskStore(new Database(server.kv));
  for (let count = 1; count < MAX_TASKS_KEPT; count++) {
    await tasks.create(`task-${count}`, { binding });
  }
  const kept = await Array.fromAsync(
    server.kv.list({ prefix: key.slice(0, 2) }),
  );
  assert.equal(kept.length, MAX_TASKS_KEPT);
  const { content, isError } = await call();
  assert(isError);
  assert.match(content[0].text, /^Too many stored tasks: try again in/);
});

Deno.test("a caller leaves no more cancellations than they may make calls", async () => {
  using _time = new FakeTime();
  await using server = await start(3);
  const headers = await signIn(server);
  const { headers: session } = await server.openSession({ headers });
  const statuses = [];
  for (let requestId = 0; requestId < 5; requestId++) {
    const response = await server.post({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId },
    }, session);
    await response.body?.cancel();
    statuses.push(response.status);
  }
  assert.deepEqual(statuses, [202, 202, 202, 429, 429]);
  const cancellations = await Array.fromAsync(
    server.kv.list({ prefix: ["cancel"] }),
  );
  assert.equal(cancellations.length, 3);
});
