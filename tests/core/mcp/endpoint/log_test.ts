/** The log of a request, and the data that must not be in it. */
import assert from "node:assert/strict";
import type { LogEvent } from "../../../../src/core/log/log.ts";
import { recordLog } from "../../../kit/log.ts";
import * as z from "zod";
import { tool } from "../../../../src/authoring/tool.ts";
import { prompt } from "../../../../src/authoring/prompt.ts";
import type { ServerDefinitions } from "../../../../src/core/catalogue/compiled_definitions.ts";
import {
  messagesOf,
  outcome,
  resultOf,
  statusOf,
} from "../../../kit/answer.ts";
import { startServer, type TestServer } from "../../../kit/server.ts";
import { until } from "../../../kit/wait.ts";
import { shortClientId } from "../../../../src/core/oauth/client.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";
import { switchableKv } from "../../../kit/switchable_kv.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { TASKS } from "../../../kit/task.ts";
import { Timers } from "../../../kit/timers.ts";
import { CATALOGUE } from "./catalogue.ts";

/** Collects the log while `act` runs. */
async function recordsOf(
  act: (server: TestServer) => Promise<unknown>,
  definitions: ServerDefinitions = CATALOGUE,
): Promise<LogEvent[]> {
  const { log, events } = recordLog("debug");
  await using server = await startServer({ log, ...definitions });
  await act(server);
  return events;
}

function call(server: TestServer, name: string, args = {}): Promise<Response> {
  return server.call("tools/call", { name, arguments: args });
}

Deno.test("a request is one event: id, method, tool, duration and outcome", async () => {
  const [{ level, properties }, ...others] = await recordsOf((server) =>
    resultOf(call(server, "greet", { name: "Ada" }))
  );
  assert.deepEqual(others, []);
  const { reference, durationMilliseconds, ...rest } = properties;
  assert.equal(level, "info");
  assert.match(String(reference), /^[\w-]{13,}$/);
  assert.equal(typeof durationMilliseconds, "number");
  assert.deepEqual(rest, {
    traceId: undefined,
    subject: "anonymous",
    clientId: undefined,
    grantId: undefined,
    door: undefined,
    session: undefined,
    method: "tools/call",
    tool: "greet",
    prompt: undefined,
    task: undefined,
    outcome: "ok",
    refusal: undefined,
  });
});

Deno.test("a request's event names the person, the client, the grant and the door", async () => {
  const { log, events } = recordLog();
  await using server = await startOAuthServer({
    ...CATALOGUE,
    log,
    environment: {
      AUTH_STRATEGY: "oauth,bearer",
      BEARER_TOKEN: "the-only-secret-token",
    },
  });
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const [grant] = await Array.fromAsync(
    server.kv.list<{ id: string }>({ prefix: ["grant"] }),
  );
  events.length = 0;
  for (const token of [access_token, "the-only-secret-token"]) {
    await (await client.call(token, "greet")).body?.cancel();
  }
  assert.deepEqual(
    events.map(({ properties: { subject, clientId, grantId, door } }) => [
      subject,
      clientId,
      grantId,
      door,
    ]),
    [
      ["github:42", shortClientId(client.clientId), grant.value.id, "oauth"],
      ["operator", undefined, undefined, "bearer"],
    ],
  );
});

Deno.test("an internal error is explained under the reference that the client has", async () => {
  let text = "";
  const records = await recordsOf(async (server) => {
    const { content } = await resultOf(call(server, "crash"));
    text = content[0].text;
  });
  const { properties } = records.find(({ level }) => level === "error")!;
  assert.equal(text, `Internal error (reference ${properties.reference})`);
  assert.match((properties.error as Error).stack!, /secret/);
  assert.equal(properties.tool, "crash");
});

Deno.test("a call that ends with a question is no error, whatever is around it", async () => {
  const confirm = tool({
    name: "confirm",
    run: async (_input, { ask }) =>
      (await ask({ message: "Sure?", schema: z.object({}) })).action,
  });
  const { log, events } = recordLog("debug");
  await using server = await startServer({
    log,
    tools: [confirm],
    around: async (_call, next) => await next(),
  });
  const asked = server.call("tools/call", { name: "confirm" }, {
    capabilities: { elicitation: {} },
  });
  assert.equal((await resultOf(asked)).resultType, "input_required");
  await until(() => events.length > 0);
  // Work after the answer has had its turn.
  await resultOf(server.call("tools/list"));
  assert.deepEqual(
    events.map(({ level, properties }) => [level, properties.outcome]),
    [["info", "input_required"], ["info", "ok"]],
  );
});

Deno.test("nothing that a client wrote is logged", async () => {
  const secret = "do-not-log";
  const records = await recordsOf(async (server) => {
    await resultOf(call(server, "greet", { name: secret }));
    await resultOf(call(server, "greet", { [secret]: 1 }));
    for (
      const [method, params] of [
        ["tools/call", { name: secret }],
        ["prompts/get", { name: secret }],
        ["resources/read", { uri: secret }],
        [secret, {}],
      ] as const
    ) await outcome(server.call(method, params));
    await outcome(server.post(secret));
    await outcome(server.post({}, { "mcp-session-id": secret }));
  });
  assert.ok(records.length > 0);
  assert.ok(!JSON.stringify(records).includes(secret));
});

Deno.test("a cancelled request is one event, whatever follows", async () => {
  const end = Promise.withResolvers<void>();
  let running = 0;
  const slow = (name: string, outcome: () => string) =>
    prompt({
      name,
      get() {
        running++;
        return end.promise.then(outcome);
      },
    });
  const prompts = [
    slow("ends", () => "late"),
    slow("throws", () => {
      throw new Error("late");
    }),
  ];
  const records = await recordsOf(async (server) => {
    const session = await server.openSession();
    const answers = prompts.map(({ name }, id) =>
      session.request("prompts/get", { name }, id)
    );
    await until(() => running === 2);
    for (const requestId of [0, 0, 1, 1]) {
      await session.notify("notifications/cancelled", { requestId });
    }
    end.resolve();
    for (const answer of answers) await messagesOf(await answer);
  }, { prompts });
  assert.deepEqual(
    records.map(({ level, properties }) => [level, properties.outcome]),
    [["info", "cancelled"], ["info", "cancelled"]],
  );
});

Deno.test("the log tells what a tool said, what we broke and what was refused apart", async () => {
  const records = await recordsOf(async (server) => {
    await resultOf(call(server, "fail"));
    await resultOf(call(server, "add", { a: "wrong" }));
    await resultOf(call(server, "crash"));
    await outcome(call(server, "nothing"));
  });
  assert.deepEqual(
    records.filter(({ message }) => message === "Request")
      .map(({ properties }) => [properties.outcome, properties.refusal]),
    [
      ["tool_error", undefined],
      ["tool_error", undefined],
      ["internal_error", undefined],
      ["refused", "error -32602"],
    ],
  );
});

Deno.test("what is refused before its method is told where it came from, to who looks closely", async () => {
  const send = (server: TestServer, method: string) =>
    server.app.fetch(
      new Request("http://127.0.0.1:3000/mcp", {
        method,
        headers: { "x-forwarded-for": "198.51.100.7, ::ffff:192.0.2.1" },
      }),
      { remoteAddr: { hostname: "127.0.0.1" } },
    );
  for (const level of ["debug", "info"] as const) {
    const { log, events } = recordLog(level);
    await using server = await startServer({
      log,
      env: {
        AUTH_STRATEGY: "bearer",
        BEARER_TOKEN: "the-only-secret-token",
        TRUSTED_PROXIES: "127.0.0.1",
      },
    });
    for (const method of ["POST", "DELETE"]) {
      assert.equal(await statusOf(send(server, method)), 401);
    }
    const told = events.map(({ properties: { reference: _, ...rest } }) =>
      rest
    );
    const refused = (method: string) => ({
      address: "192.0.2.1",
      method: `${method} /mcp`,
      status: 401,
      outcome: "refused",
      refusal: "unauthorized",
    });
    assert.deepEqual(
      told.filter(({ refusal }) => refusal !== undefined),
      level === "debug" ? ["POST", "DELETE"].map(refused) : [],
    );
    // `/mcp` has routes too, whose lines report the same.
    for (const { outcome } of told) assert.equal(outcome, "refused");
  }
});

Deno.test("lines of one session have one name, which does not open it", async () => {
  const ids: string[] = [];
  const records = await recordsOf(async (server) => {
    for (const calls of [2, 1]) {
      const session = await server.openSession();
      ids.push(session.id);
      for (let id = 0; id < calls; id++) {
        await outcome(session.request("ping", {}, id));
      }
    }
  });
  const [one, same, other] = records
    .filter(({ properties }) => properties.method === "ping")
    .map(({ properties }) => properties.session);
  assert.match(String(one), /^[0-9a-f]{8}$/);
  assert.equal(one, same);
  assert.notEqual(one, other);
  for (const id of ids) assert(!JSON.stringify(records).includes(id));
});

Deno.test("a database that fails is told once a second with its cause, however many calls it fails", async () => {
  using time = new FakeTime();
  using database = await switchableKv();
  const { kv, state } = database;
  const { log, events } = recordLog("warning");
  try {
    await using server = await startServer({ ...CATALOGUE, kv, log });
    const session = await server.openSession();
    state.isUp = false;
    time.tick(2);
    for (let id = 0; id < 6; id++) {
      if (id === 3) time.tick(1);
      assert.equal(await statusOf(session.request("ping", {}, id)), 503);
    }
  } finally {
    state.isUp = true;
  }
  assert.deepEqual(
    events.map(({ message, properties }) => [message, properties.repeated]),
    [["Not available", undefined], ["Not available", 2]],
  );
  const { cause } = events[0].properties.error as Error;
  assert.match(String(cause), /no database/);
  assert.ok(events[0].properties.reference);
});

/** The complaints of work that goes on without a request. */
const LOOKS = [
  "A task's grant could not be read",
  "A task's lease could not be renewed",
  "Cancellations could not be read",
  "Durable work could not be claimed",
  "Grants and sessions could not be read",
];

Deno.test("what looks at a database that is away is told once a minute, however much is at work", async () => {
  using time = new FakeTime();
  using timers = new Timers();
  using database = await switchableKv();
  const { kv, state } = database;
  const { log, events } = recordLog("warning");
  const endless = (name: string, task?: "required" | { durable: true }) =>
    tool({
      name,
      ...task && { task },
      run: (_, { signal }) =>
        new Promise<string>((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason))
        ),
    });
  const tools = [
    endless("call"),
    endless("work", "required"),
    endless("lasting", { durable: true }),
  ];
  await using server = await startOAuthServer({ tools, kv, log });
  using _up = { [Symbol.dispose]: () => void (state.isUp = true) };
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const headers = { authorization: `Bearer ${access_token}` };
  for (const name of ["work", "work", "lasting", "lasting"]) {
    await resultOf(
      server.call("tools/call", { name, arguments: {} }, {
        headers,
        capabilities: TASKS,
      }),
    );
  }
  const session = await server.openSession({ headers });
  for (let id = 0; id < 3; id++) {
    session.request("tools/call", { name: "call" }, id).then(
      (response) => response.body?.cancel(),
      () => {},
    );
  }
  await until(() => server.app.running === 7);
  state.isUp = false;
  time.tick(2);
  const told = (message: string) =>
    events.filter((event) => event.message === message);
  const isTold = (count: number) => async () => {
    await timers.beat();
    return LOOKS.every((message) => told(message).length === count);
  };
  await until(isTold(1));
  time.tick(60);
  await until(isTold(2));
  const [, { properties }] = told("A task's grant could not be read");
  assert(Number(properties.repeated) >= 3);
});
