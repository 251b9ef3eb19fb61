/** The tasks extension: work that outlives its request. */
import assert from "node:assert/strict";
import * as z from "zod";
import { RpcError } from "../../../src/core/errors.ts";
import { tool, ToolError } from "../../../src/authoring/tool.ts";
import { recordLog } from "../../kit/log.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { RUNNING_SECONDS } from "../../../src/features/work/task_record.ts";
import { LAPSE_SECONDS } from "../../../src/core/kv/leases.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { FakeTime, SteadyTime } from "../../kit/fake_time.ts";
import { outcome, refusal, resultOf } from "../../kit/answer.ts";
import { startServer, type TestServer } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";
import { beginTask, reached, readTask, TASKS } from "../../kit/task.ts";

const NAME = z.object({ name: z.string() });

const build = tool({
  name: "build",
  task: "optional",
  input: z.object({ n: z.int() }),
  output: z.object({ doubled: z.int() }),
  async run({ n }, { progress }) {
    await progress(0, 2);
    await progress(1, 2, "half way");
    await progress(2, 2, "nearly there");
    return { doubled: 2 * n };
  },
});

const longer = tool({
  name: "longer",
  task: "required",
  run: (_input, { signal }) =>
    new Promise<string>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    ),
});

const meet = tool({
  name: "meet",
  task: "required",
  async run(_input, { ask }) {
    const { action } = await ask({ message: "Who?", schema: NAME, key: "who" });
    return action;
  },
});

const prepared = tool({
  name: "prepared",
  task: "optional",
  async prepare(_input, { ask }) {
    const answer = await ask({ message: "Who?", schema: NAME, key: "who" });
    return answer.action === "accept" ? answer.content.name : "no one";
  },
  run: (_input, _context, name) => `for ${name}`,
});

const failures = {
  tool_error: () => {
    throw new ToolError("Try the other door.");
  },
  rpc_error: () => {
    throw new RpcError(-5, "Refused", { data: { why: 1 } });
  },
  crash: () => {
    throw new Error("secret");
  },
};

const DEFINITIONS = {
  tools: [
    build,
    longer,
    meet,
    prepared,
    ...Object.entries(failures).map(([name, run]) =>
      tool({ name, task: "required", run })
    ),
  ],
};

const capabilities = { ...TASKS, elicitation: {} };

function start(kv?: Deno.Kv, options = {}) {
  return startServer({ ...DEFINITIONS, ...options, kv });
}

function call(server: TestServer, name: string, more = {}): Promise<Response> {
  return server.call("tools/call", { name, ...more }, { capabilities });
}

Deno.test("a tool that may be a task is one for a client that knows them", async () => {
  await using server = await start();
  const { _meta, ...created } = await resultOf(
    call(server, "build", { arguments: { n: 21 } }),
  );
  const { taskId, createdAt, lastUpdatedAt, ...rest } = created;
  assert.deepEqual(rest, {
    resultType: "task",
    status: "working",
    ttlMs: RUNNING_SECONDS * 1000,
    pollIntervalMs: 1000,
  });
  assert.match(taskId, /^[\w-]{32}$/);
  for (const time of [createdAt, lastUpdatedAt]) {
    assert.equal(new Date(time).toISOString(), time);
  }
  const task = await reached(server, taskId, "completed");
  assert.equal(task.resultType, "complete");
  assert.deepEqual(task.result.structuredContent, { doubled: 42 });
});

Deno.test("a task is known to every server before its client knows it", async () => {
  await using first = await start();
  await using second = await start(first.kv);
  const taskId = await beginTask(first, "longer");
  assert.equal((await readTask(second, taskId)).status, "working");
});

Deno.test("progress in words is a task's status message, once a second at most", async () => {
  await using server = await start();
  const { taskId } = await resultOf(
    call(server, "build", { arguments: { n: 1 } }),
  );
  const { statusMessage } = await reached(server, taskId, "completed");
  assert.equal(statusMessage, "2 of 2: nearly there");
});

Deno.test("a client that knows no tasks gets the result, or is told what it lacks", async () => {
  await using server = await start(undefined, { handOver: 0 });
  const run = (name: string, args = {}) =>
    server.call("tools/call", { name, arguments: args });
  const { structuredContent } = await resultOf(run("build", { n: 2 }));
  assert.deepEqual(structuredContent, { doubled: 4 });
  const { status, error } = await outcome(run("longer"));
  assert.deepEqual([status, error.code, error.data], [400, -32021, {
    requiredCapabilities: TASKS,
  }]);
});

Deno.test("a 2025 client gets the result, or -32602 where only a task will do", async () => {
  await using server = await start(undefined, { handOver: 0 });
  const session = await server.openSession({ capabilities });
  const run = (name: string, args = {}) =>
    session.request("tools/call", { name, arguments: args });
  const { structuredContent } = await resultOf(run("build", { n: 2 }));
  assert.deepEqual(structuredContent, { doubled: 4 });
  assert.equal(await refusal(run("longer")), "200 -32602");
});

Deno.test("wrong arguments make no task", async () => {
  await using server = await start();
  const result = await resultOf(call(server, "build", { arguments: {} }));
  assert.deepEqual([result.resultType, result.isError], ["complete", true]);
});

for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
  Deno.test(`${method} wants a client that declared tasks`, async () => {
    await using server = await start();
    const taskId = await beginTask(server, "longer");
    const answer = server.call(method, { taskId, inputResponses: {} });
    assert.equal(await refusal(answer), "400 -32021");
  });

  Deno.test(`${method} wants the id in Mcp-Name`, async () => {
    await using server = await start();
    const params = { taskId: await beginTask(server, "longer") };
    const answer = server.call(method, params, {
      capabilities,
      headers: { "mcp-name": "other" },
    });
    assert.equal(await refusal(answer), "400 -32020");
  });
}

Deno.test("a task asks midway, and takes its answer from any server", async () => {
  await using first = await start();
  await using second = await start(first.kv);
  const taskId = await beginTask(first, "meet");
  const { inputRequests, requestState } = await reached(
    second,
    taskId,
    "input_required",
  );
  assert.equal(requestState, undefined);
  assert.deepEqual(Object.keys(inputRequests), ["who"]);
  assert.equal(inputRequests.who.params.message, "Who?");
  const inputResponses = { who: { action: "decline" }, else: {} };
  const { _meta, ...acknowledged } = await resultOf(
    second.call("tasks/update", { taskId, inputResponses }, { capabilities }),
  );
  assert.deepEqual(acknowledged, { resultType: "complete" });
  const { result } = await reached(first, taskId, "completed");
  assert.equal(result.content[0].text, "decline");
});

Deno.test("tasks/update refuses answers that are none, and ignores those no one asked for", async () => {
  await using server = await start();
  const taskId = await beginTask(server, "meet");
  await reached(server, taskId, "input_required");
  const update = (inputResponses: unknown) =>
    server.call("tasks/update", { taskId, inputResponses }, { capabilities });
  for (const wrong of [undefined, [], { who: 1 }]) {
    assert.equal(await refusal(update(wrong)), "200 -32602");
  }
  await resultOf(update({ other: { action: "decline" } }));
  assert.equal((await readTask(server, taskId)).status, "input_required");
});

Deno.test("an answer that does not match its question fails the task", async () => {
  await using server = await start();
  const taskId = await beginTask(server, "meet");
  await reached(server, taskId, "input_required");
  const inputResponses = { who: { action: "maybe" } };
  await resultOf(
    server.call("tasks/update", { taskId, inputResponses }, { capabilities }),
  );
  const { error } = await reached(server, taskId, "failed");
  assert.equal(error.code, -32602);
});

Deno.test("what prepare() asks is asked before there is a task", async () => {
  await using server = await start();
  const { resultType, requestState } = await resultOf(call(server, "prepared"));
  assert.equal(resultType, "input_required");
  const answer = { action: "accept", content: { name: "Ada" } };
  const more = { requestState, inputResponses: { who: answer } };
  const { taskId } = await resultOf(call(server, "prepared", more));
  const { result } = await reached(server, taskId, "completed");
  assert.equal(result.content[0].text, "for Ada");
});

Deno.test("tasks/cancel on another server stops the tool, for good", async () => {
  await using first = await start();
  await using second = await start(first.kv);
  const taskId = await beginTask(first, "longer");
  const { _meta, ...acknowledged } = await resultOf(
    second.call("tasks/cancel", { taskId }, { capabilities }),
  );
  assert.deepEqual(acknowledged, { resultType: "complete" });
  await first.app.close();
  const task = await readTask(second, taskId);
  assert.deepEqual([task.status, task.result, task.error], [
    "cancelled",
    undefined,
    undefined,
  ]);
});

Deno.test("cancelling what has ended changes nothing", async () => {
  await using server = await start();
  const taskId = await beginTask(server, "tool_error");
  await reached(server, taskId, "completed");
  await resultOf(server.call("tasks/cancel", { taskId }, { capabilities }));
  assert.equal((await readTask(server, taskId)).status, "completed");
});

Deno.test("a tool's own failure completes the task, others fail it", async () => {
  await using server = await start();
  const told = await beginTask(server, "tool_error");
  const { result } = await reached(server, told, "completed");
  assert.deepEqual(result, {
    content: [{ type: "text", text: "Try the other door." }],
    isError: true,
  });
  const refused = await beginTask(server, "rpc_error");
  assert.deepEqual((await reached(server, refused, "failed")).error, {
    code: -5,
    message: "Refused",
    data: { why: 1 },
  });
  const crashed = await beginTask(server, "crash");
  assert.deepEqual((await reached(server, crashed, "failed")).error, {
    code: -32603,
    message: `Internal error (reference ${crashed})`,
  });
});

Deno.test("the log names a task where it begins, and tells under that name how it ended", async () => {
  const { log, events } = recordLog();
  await using server = await startServer({ ...DEFINITIONS, log });
  /** The tool and the outcome that are told of a task. */
  const told = (message: string, taskId: string) => {
    const name = message === "Task" ? "reference" : "task";
    const { properties } =
      events.find((event) =>
        event.message === message && event.properties[name] === taskId
      ) ?? {};
    return properties && [properties.tool, properties.outcome];
  };
  const outcomes = {
    build: "ok",
    tool_error: "tool_error",
    rpc_error: "refused",
    crash: "internal_error",
    longer: "cancelled",
  };
  for (const [name, outcome] of Object.entries(outcomes)) {
    const more = name === "build" ? { arguments: { n: 1 } } : {};
    const { taskId } = await resultOf(call(server, name, more));
    if (outcome === "cancelled") {
      await resultOf(server.call("tasks/cancel", { taskId }, { capabilities }));
    }
    await until(() => told("Task", taskId) !== undefined);
    assert.deepEqual(told("Request", taskId), [name, "ok"]);
    assert.deepEqual(told("Task", taskId), [name, outcome]);
  }
});

Deno.test("a server that stops says so of its tasks", async () => {
  await using first = await start();
  await using second = await start(first.kv);
  const taskId = await beginTask(first, "longer");
  first.app.stop();
  await first.app.close();
  const { status, error } = await readTask(second, taskId);
  assert.equal(status, "failed");
  assert.match(error.message, /has stopped/);
  assert.equal(await refusal(call(first, "longer")), "503 -32603");
});

Deno.test("a task whose server died has failed within 45 seconds", async () => {
  using time = new FakeTime();
  using steady = new SteadyTime();
  await using server = await start();
  await taskStore(new Database(server.kv)).create("orphan", {
    binding: "anonymous",
  });
  time.tick(28);
  assert.equal((await readTask(server, "orphan")).status, "working");
  time.tick(3);
  assert.equal((await readTask(server, "orphan")).status, "working");
  steady.tick(LAPSE_SECONDS);
  const { status, error } = await readTask(server, "orphan");
  assert.deepEqual([status, error.code], ["failed", -32603]);
});

Deno.test("a task is forgotten after a day", async () => {
  using time = new FakeTime();
  await using server = await start();
  const taskId = await beginTask(server, "tool_error");
  await reached(server, taskId, "completed");
  time.tick(RUNNING_SECONDS);
  const answer = server.call("tasks/get", { taskId }, { capabilities });
  assert.equal(await refusal(answer), "200 -32602");
});
