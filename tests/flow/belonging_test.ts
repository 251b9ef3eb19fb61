import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { initialize, type Json } from "../kit/message.ts";
import { refusal, resultOf, statusOf, textOf } from "../kit/answer.ts";
import { until } from "../kit/wait.ts";
import { BASE_URL } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";

const long = tool({
  name: "long",
  task: "required",
  run: (_, { signal }) =>
    new Promise<string>((resolve) =>
      signal.addEventListener("abort", () => resolve("ended"), { once: true })
    ),
});
const ask = tool({
  name: "ask",
  run: async (_, { ask }) => {
    const schema = z.object({ name: z.string() });
    return (await ask({ message: "Who?", schema, key: "who" })).action;
  },
});
const tools = [long, ask];

const capabilities = {
  elicitation: { form: {} },
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

/** Connects a person's client, ready to call. */
async function connect(server: OAuthServer, as = "42") {
  server.provider.subject = as;
  const client = await Client.register(server);
  const { access_token, refresh_token } = await client.connect();
  const headers = { authorization: `Bearer ${access_token}` };
  const call = (method: string, params: Json) =>
    server.call(method, params, { capabilities, headers });
  const ping = async (sessionId: string) => {
    return await statusOf(server.post(
      { jsonrpc: "2.0", id: 2, method: "ping" },
      { ...headers, "mcp-session-id": sessionId },
    ));
  };
  return {
    client,
    call,
    ping,
    async openSession(): Promise<string> {
      const response = await server.post(initialize("2025-11-25"), headers);
      await response.body?.cancel();
      return response.headers.get("mcp-session-id")!;
    },
    async startTask(): Promise<string> {
      const task = await resultOf(call("tools/call", { name: "long" }));
      return task.taskId;
    },
    taskStatus: async (taskId: string): Promise<string> =>
      (await resultOf(call("tasks/get", { taskId }))).status,
    async revoke(): Promise<void> {
      const { status, body } = await server.form("/revoke", {
        token: refresh_token,
        client_id: client.clientId,
      });
      await body?.cancel();
      assert.equal(status, 200);
    },
  };
}

Deno.test("a session, a task and a request state go on under another client of the same person", async () => {
  await using server = await startOAuthServer({ tools });
  const first = await connect(server);
  const again = await connect(server);
  assert.notEqual(first.client.clientId, again.client.clientId);

  const sessionId = await first.openSession();
  assert.equal(await again.ping(sessionId), 200);
  assert.equal(await first.ping(sessionId), 200);

  const taskId = await first.startTask();
  assert.equal(await again.taskStatus(taskId), "working");

  const { requestState, inputRequests } = await resultOf(
    first.call("tools/call", { name: "ask" }),
  );
  const inputResponses = Object.fromEntries(
    Object.keys(inputRequests).map((key) => [key, { action: "decline" }]),
  );
  assert.equal(
    await textOf(
      again.call("tools/call", { name: "ask", requestState, inputResponses }),
    ),
    "decline",
  );
});

Deno.test("a session, a task and a request state are unknown to another person", async () => {
  await using server = await startOAuthServer({ tools });
  const mine = await connect(server);
  const theirs = await connect(server, "43");
  assert.equal(await theirs.ping(await mine.openSession()), 404);
  const taskId = await mine.startTask();
  assert.equal(
    await refusal(theirs.call("tasks/get", { taskId })),
    "200 -32602",
  );
  const { requestState } = await resultOf(
    mine.call("tools/call", { name: "ask" }),
  );
  assert.equal(
    await refusal(theirs.call("tools/call", { name: "ask", requestState })),
    "200 -32602",
  );
});

Deno.test("a session and a task end with the grant that used them last, by /revoke", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer({ tools });
  const first = await connect(server);
  const second = await connect(server);
  const third = await connect(server);
  const sessionId = await first.openSession();
  const taskId = await first.startTask();
  assert.equal(await second.ping(sessionId), 200);
  assert.equal(await second.taskStatus(taskId), "working");

  await first.revoke();
  time.tick(1);
  assert.equal(await second.ping(sessionId), 200);
  assert.equal(await second.taskStatus(taskId), "working");

  await second.revoke();
  time.tick(1);
  assert.equal(await third.ping(sessionId), 404);
  await until(async () => await third.taskStatus(taskId) === "cancelled");
});

Deno.test("a session and a task end with their grant on /account, which shows whose they are", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer({ tools });
  const first = await connect(server);
  const second = await connect(server);
  const sessionId = await first.openSession();
  const taskId = await first.startTask();
  const browser = server.browser();
  const page = await browser.press(
    await browser.open(`${BASE_URL}/account`),
    "",
    "",
  );
  const rows = page.text.split("<main>")[1].split("<li>").slice(1);
  assert.equal(rows.length, 2);
  const row = rows.findIndex((it) => it.includes("1 open session"));
  assert.doesNotMatch(rows[1 - row], /open session/);

  const form = /<form[^>]*action="\/account\/end".*?<\/form>/s.exec(rows[row]);
  await browser.press({ ...page, text: form![0] }, "", "");
  time.tick(1);
  assert.equal(await second.ping(sessionId), 404);
  await until(async () => await second.taskStatus(taskId) === "cancelled");
});
