/** What the log says of a request, and what it keeps to itself. */
import assert from "node:assert/strict";
import { configureLog, type LogEvent } from "../../src/log.ts";
import { prompt } from "../../src/authoring/prompt.ts";
import type { Definitions } from "../../src/protocol/catalogue.ts";
import {
  messagesOf,
  outcome,
  resultOf,
  startServer,
  type TestServer,
  until,
} from "../kit.ts";
import { CATALOGUE } from "./catalogue.ts";

/** What is logged while `act` runs. */
async function recordsOf(
  act: (server: TestServer) => Promise<unknown>,
  definitions: Definitions = CATALOGUE,
): Promise<LogEvent[]> {
  const events: LogEvent[] = [];
  configureLog({ level: "debug", take: (event) => events.push(event) });
  try {
    await using server = await startServer(definitions);
    await act(server);
  } finally {
    configureLog({ level: "off" });
  }
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
    method: "tools/call",
    tool: "greet",
    outcome: "ok",
  });
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
