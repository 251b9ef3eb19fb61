import assert from "node:assert/strict";
import { Events, resultOf } from "../kit/answer.ts";
import { initialize, type Json } from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import { type Cluster, type Member, startCluster } from "../kit/cluster.ts";

const TASKS = {
  extensions: { "io.modelcontextprotocol/tasks": {} },
  elicitation: { form: {} },
};

async function startTask(at: Member, tool: string, name: string) {
  const params = { name: tool, arguments: { name } };
  const { resultType, taskId } = await resultOf(
    at.call("tools/call", params, { capabilities: TASKS }),
  );
  assert.equal(resultType, "task");
  return taskId as string;
}

async function onTask(
  at: Member,
  verb: "get" | "update" | "cancel",
  taskId: string,
  more: Json = {},
): Promise<Json> {
  return await resultOf(
    at.call(`tasks/${verb}`, { taskId, ...more }, { capabilities: TASKS }),
  );
}

async function statusOf(at: Member, taskId: string): Promise<string> {
  return (await onTask(at, "get", taskId)).status;
}

/** Opens a subscription to a task and waits for the acknowledgement. */
async function followed(at: Member, taskId: string): Promise<Events> {
  const events = new Events(
    await at.call("subscriptions/listen", {
      notifications: { taskIds: [taskId] },
    }, { id: taskId, capabilities: TASKS }),
  );
  const { params } = await events.read();
  assert.deepEqual(params.notifications, { taskIds: [taskId] });
  return events;
}

async function drop(response: Response | Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

Deno.test("tasks across processes", async (t) => {
  await using cluster: Cluster = await startCluster();
  const { a, b } = cluster;

  await t.step("made on A, answered and read on B", async () => {
    const taskId = await startTask(a, "ask_task", "secret");
    await until(async () => await statusOf(b, taskId) === "input_required");
    const { inputRequests } = await onTask(b, "get", taskId);
    const [[key, { params }]] = Object.entries<Json>(inputRequests);
    assert.equal(params.message, "secret");
    const content = { action: "accept", content: { word: "yes" } };
    await onTask(b, "update", taskId, { inputResponses: { [key]: content } });
    await until(async () => await statusOf(b, taskId) === "completed");
    const { result } = await onTask(b, "get", taskId);
    const { name, said } = JSON.parse(result.content[0].text);
    assert.deepEqual({ name, said }, { name: "secret", said: "yes" });
  });

  await t.step("an answer that is no object is refused", async () => {
    const taskId = await startTask(a, "ask_task", "secret");
    await until(async () => await statusOf(b, taskId) === "input_required");
    const { inputRequests } = await onTask(b, "get", taskId);
    const [key] = Object.keys(inputRequests);
    const params = { taskId, inputResponses: { [key]: null } };
    const response = await b.call("tasks/update", params, {
      capabilities: TASKS,
    });
    assert.equal((await response.json()).error.code, -32602);
    assert.equal(await statusOf(b, taskId), "input_required");
    await onTask(b, "cancel", taskId);
  });

  await t.step("made on A, cancelled on B", async () => {
    const taskId = await startTask(a, "hold_task", "cancelled");
    await onTask(b, "cancel", taskId);
    assert.equal(await statusOf(a, taskId), "cancelled");
    await until(async () => {
      const { structuredContent } = await a.tool("look", { name: "cancelled" });
      return structuredContent.firedMilliseconds !== null;
    });
    assert.equal(await statusOf(b, taskId), "cancelled");
  });

  await t.step("only tasks are left in the database", async () => {
    const entries = await Array.fromAsync(cluster.kv.list({ prefix: [] }));
    const kinds = new Set(entries.map(({ key }) => String(key[0])));
    kinds.delete("text");
    assert.deepEqual([...kinds], ["layout", "task", "task-of"]);
  });

  await t.step(
    "a task whose process is killed fails",
    async () => {
      const taskId = await startTask(a, "hold_task", "killed");
      const asking = await startTask(a, "ask_task", "killed too");
      const events = await followed(b, taskId);
      await a.crash();
      assert.equal(await statusOf(b, taskId), "working");
      for (const id of [taskId, asking]) {
        await until(async () => await statusOf(b, id) === "failed");
        const { error, inputRequests } = await onTask(b, "get", id);
        assert.equal(error.code, -32603);
        assert.equal(inputRequests, undefined);
      }
      for (let status = "working"; status !== "failed";) {
        const { method, params } = await events.read();
        assert.equal(method, "notifications/tasks");
        ({ status } = params);
      }
      await events.close();
    },
  );
});

Deno.test("a session outlives the process that made it", async (t) => {
  await using cluster: Cluster = await startCluster();
  const { a, b } = cluster;
  const session = await a.openSession();
  const other = await a.openSession();

  await t.step("ended on A, soon unknown on B", async () => {
    assert.equal(await drop(other.at(b).request("ping")), 200);
    assert.equal(await drop(other.end()), 202);
    await until(async () => await drop(other.at(b).request("ping")) === 404);
    assert.equal(await drop(other.request("ping")), 404);
  });

  await t.step(
    "begun through B and ended on A, at once unknown on B",
    async () => {
      const brief = await a.openSession();
      const begun = brief.at(b).notify("notifications/initialized");
      assert.equal(await drop(begun), 202);
      assert.equal(await drop(brief.end()), 202);
      assert.equal(await drop(brief.at(b).request("ping")), 404);
    },
  );

  await t.step("made on A, served by B after A was killed", async () => {
    await a.crash();
    const response = await session.at(b).request("ping");
    assert.deepEqual((await response.json()).result, {});
  });

  await t.step("made on B while no one else is there", async () => {
    const response = await b.post(initialize("2025-11-25"));
    assert.equal(await drop(response), 200);
  });
});

Deno.test("a process that is told to stop ends what it works on", async () => {
  await using cluster: Cluster = await startCluster();
  const { a, b } = cluster;
  const session = await a.openSession({ capabilities: { elicitation: {} } });
  const asking = await session.request("tools/call", {
    name: "ask",
    arguments: { name: "asking" },
  });
  const holding = await a.call("tools/call", {
    name: "hold",
    arguments: { name: "holding" },
  }, { meta: { progressToken: 1 } });
  const listening = await a.call("subscriptions/listen", { notifications: {} });
  const taskIds = [
    await startTask(a, "hold_task", "task"),
    await startTask(a, "ask_task", "task"),
  ];
  await a[Symbol.asyncDispose]();
  assert.equal((await resultOf(asking)).isError, true);
  assert.equal((await resultOf(holding)).content[0].text, "let go");
  assert.equal((await resultOf(listening)).resultType, "complete");
  for (const taskId of taskIds) {
    assert.equal(await statusOf(b, taskId), "failed");
  }
});

Deno.test("changes cross processes", async (t) => {
  await using cluster: Cluster = await startCluster();
  const { a, b } = cluster;

  async function listen(
    at: Member,
    notifications: Json,
    id: string,
  ): Promise<Events> {
    const response = await at.call("subscriptions/listen", { notifications }, {
      id,
    });
    const events = new Events(response);
    const { method } = await events.read();
    assert.equal(method, "notifications/subscriptions/acknowledged");
    return events;
  }

  await t.step(
    "a resource touched on A is heard on B, and only it",
    async () => {
      const mine = { resourceSubscriptions: ["test://mine"] };
      const events = await listen(b, mine, "mine");
      await a.tool("touch", { uri: "test://other" });
      await a.tool("touch", { uri: "test://mine" });
      const { method, params } = await events.read();
      assert.equal(method, "notifications/resources/updated");
      assert.equal(params.uri, "test://mine");
      assert.deepEqual(params._meta, {
        "io.modelcontextprotocol/subscriptionId": "mine",
      });
      await events.close();
    },
  );

  await t.step("a changed list is heard on both", async () => {
    const streams = await Promise.all([
      listen(a, { toolsListChanged: true }, "a"),
      listen(b, { toolsListChanged: true }, "b"),
    ]);
    await a.tool("relist", { list: "tools" });
    for (const events of streams) {
      const { method } = await events.read();
      assert.equal(method, "notifications/tools/list_changed");
      await events.close();
    }
  });

  await t.step("changes made on both at once are all heard", async () => {
    const uris = Array.from({ length: 40 }, (_, i) => `test://${i}`);
    const events = await listen(b, { resourceSubscriptions: uris }, "all");
    await Promise.all(
      uris.map((uri, i) => (i % 2 ? a : b).tool("touch", { uri })),
    );
    const heard = new Set<string>();
    while (heard.size < uris.length) {
      heard.add((await events.read()).params.uri);
    }
    assert.deepEqual([...heard].sort(), uris.toSorted());
    await events.close();
  });
});
