/** `notifications/tasks`, with any server working on the task. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../src/authoring/tool.ts";
import { Meta } from "../../../src/core/protocol/request_meta.ts";
import { Events, refusal, resultOf } from "../../kit/answer.ts";
import type { Json } from "../../kit/message.ts";
import { startServer, type TestServer } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";

const CAPABILITIES = {
  elicitation: {},
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

const greet = tool({
  name: "greet",
  task: "required",
  async run(_input, { ask }) {
    const schema = z.object({ name: z.string() });
    const answer = await ask({ message: "Who is there?", schema });
    return answer.action === "accept" ? answer.content.name : "no one";
  },
});

function start(kv?: Deno.Kv): Promise<TestServer> {
  return startServer({ tools: [greet], kv });
}

async function call(
  server: TestServer,
  method: string,
  params: Json,
): Promise<Json> {
  return await resultOf(
    server.call(method, params, { capabilities: CAPABILITIES }),
  );
}

async function listen(server: TestServer, taskIds: string[]): Promise<Events> {
  const params = { notifications: { taskIds } };
  return new Events(
    await server.call("subscriptions/listen", params, {
      id: "s",
      capabilities: CAPABILITIES,
    }),
  );
}

Deno.test("a subscription is told every state of a task that another server works on", async () => {
  await using server = await start();
  await using other = await start(server.kv);
  const { taskId } = await call(server, "tools/call", { name: "greet" });
  const events = await listen(other, [taskId, "no one's"]);
  const { method, params } = await events.read();
  assert.equal(method, "notifications/subscriptions/acknowledged");
  assert.deepEqual(params.notifications, { taskIds: [taskId] });

  let state: Json;
  const next = async () => {
    const { method, params: { _meta, ...rest } } = await events.read();
    assert.equal(method, "notifications/tasks");
    assert.deepEqual(_meta, { [Meta.subscriptionId]: "s" });
    return state = rest;
  };
  await until(async () => (await next()).status === "input_required");
  const got = await call(server, "tasks/get", { taskId });
  for (const [name, value] of Object.entries(state)) {
    assert.deepEqual(value, got[name]);
  }
  const [key] = Object.keys(state.inputRequests);
  const answer = { action: "accept", content: { name: "Ada" } };
  await call(other, "tasks/update", {
    taskId,
    inputResponses: { [key]: answer },
  });
  await until(async () => (await next()).status === "completed");
  assert.equal(state.result.content[0].text, "Ada");
  await events.close();
});

Deno.test("a subscription to no one's tasks is acknowledged with none", async () => {
  await using server = await start();
  const events = await listen(server, ["no one's"]);
  const { params } = await events.read();
  assert.deepEqual(params.notifications, { taskIds: [] });
  await events.close();
});

Deno.test("tasks are followed for clients that declared them only: -32021", async () => {
  await using server = await start();
  for (const taskIds of [[], ["t"]]) {
    const params = { notifications: { taskIds } };
    assert.equal(
      await refusal(server.call("subscriptions/listen", params)),
      "400 -32021",
    );
  }
});
