/** A task requires the scopes of its tool, in every way to ask for it. */
import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { Events, isStream, resultOf } from "../../kit/answer.ts";
import type { Json } from "../../kit/message.ts";
import { until } from "../../kit/wait.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";

const tools = [
  tool({
    name: "report",
    scopes: ["report"],
    task: "required",
    run: () => "secret",
  }),
  tool({ name: "look", scopes: ["look"], run: () => "open" }),
];

const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Every way to ask for a task. */
const WAYS: Record<string, (taskId: string) => [string, Json]> = {
  "tasks/get": (taskId) => ["tasks/get", { taskId }],
  "tasks/update": (taskId) => ["tasks/update", { taskId, inputResponses: {} }],
  "tasks/cancel": (taskId) => ["tasks/cancel", { taskId }],
  "subscriptions/listen": (taskId) => [
    "subscriptions/listen",
    { notifications: { taskIds: [taskId] } },
  ],
};

async function callerOf(server: OAuthServer, scope: string) {
  const { headers } = await server.person({ scope });
  return ([method, params]: [string, Json]) =>
    server.call(method, params, { headers, capabilities });
}

async function finishedTask(server: OAuthServer): Promise<string> {
  const call = await callerOf(server, "report");
  const { taskId } = await resultOf(
    call(["tools/call", { name: "report", arguments: {} }]),
  );
  await until(async () =>
    (await resultOf(call(["tasks/get", { taskId }]))).status === "completed"
  );
  return taskId;
}

for (const [name, way] of Object.entries(WAYS)) {
  Deno.test(`${name} asks the task's person for the scope that this token lacks`, async () => {
    await using server = await startOAuthServer({ tools });
    const taskId = await finishedTask(server);
    const narrow = await callerOf(server, "look");
    const refused = await narrow(way(taskId));
    assert.equal(refused.status, 403);
    assert.match(
      refused.headers.get("www-authenticate")!,
      /error="insufficient_scope".* scope="report"/,
    );
    assert.doesNotMatch(await refused.text(), /secret/);
  });

  Deno.test(`${name} finds no task of a tool that its person may not use any more`, async () => {
    using kv = await Deno.openKv(":memory:");

    await using before = await startOAuthServer({ tools, kv });
    const taskId = await finishedTask(before);
    await using server = await startOAuthServer({
      tools,
      kv,
      environment: { OAUTH_PERMISSIONS: "*=look" },
    });
    const call = await callerOf(server, "look");
    const none = "x".repeat(taskId.length);
    const [theirs, unknown] = await Promise.all([
      call(way(taskId)),
      call(way(none)),
    ]);
    if (name === "subscriptions/listen") {
      for (const response of [theirs, unknown]) {
        assert(isStream(response));
        const events = new Events(response);
        const { params } = await events.read();
        assert.deepEqual(params.notifications.taskIds, []);
        await events.close();
      }
      return;
    }
    assert.equal(theirs.status, unknown.status);
    assert.equal(
      await theirs.text(),
      (await unknown.text()).replace(none, taskId),
    );
  });
}
