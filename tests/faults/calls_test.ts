/**
 * Sessions, questions and tasks, with a fault at every operation on the
 * database. A fault that ends no process must not break a promise.
 *
 * @module
 */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import { BASE_URL } from "../kit/server.ts";
import { Events, isStream, messagesOf, statusOf } from "../kit/answer.ts";
import { initialize, type Json, rpc } from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import { FAULTS } from "../kit/faulty_kv.ts";
import { type Line, testFaults } from "../kit/faults.ts";

const LARGE = "x".repeat(100_000);

const WORD = z.object({ word: z.string() });
const ANSWER = { action: "accept", content: { word: LARGE } };

const greet = tool({ name: "greet", run: () => "hello" });
const confirm = tool({
  name: "confirm",
  run: async (_, { ask }) => {
    const answer = await ask({ message: "Which?", schema: WORD });
    return answer.action === "accept" ? answer.content.word : answer.action;
  },
});
const work = tool({ name: "work", task: "required", run: () => LARGE });
const wait = tool({
  name: "wait",
  task: "required",
  run: (_, { signal }) =>
    new Promise<string>((resolve) =>
      signal.addEventListener("abort", () => resolve("over"))
    ),
});
const discuss = tool({
  name: "discuss",
  task: "required",
  run: async (_, { ask, progress }) => {
    await progress(1, 2, "Asking");
    const answer = await ask({ message: LARGE, schema: WORD, key: "word" });
    return answer.action === "accept" ? answer.content.word : answer.action;
  },
});

const capabilities = {
  elicitation: {},
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

const STAYING = FAULTS.filter((fault) => !fault.startsWith("dies"));

/** Reads the only message of an answer; a slow one is a stream. */
async function answerOf(response: Response): Promise<Json> {
  const { status } = response;
  return { status, ...(await messagesOf(response)).at(-1) };
}

/** Opens a session, with a process that lives long enough. */
async function open(line: Line, capabilities = {}) {
  for (;;) {
    const response = await line.post(initialize("2025-11-25", capabilities));
    await response.body?.cancel();
    if (response.status === 503) continue;
    assert.equal(response.status, 200);
    return { "mcp-session-id": response.headers.get("mcp-session-id")! };
  }
}

testFaults("a session", { tools: [greet] }, async (line) => {
  const session = await open(line);
  const persistent = async (send: () => Promise<Response>) => {
    for (;;) {
      const answer = await answerOf(await send());
      if (answer.status !== 503) return answer;
    }
  };
  const level = rpc("logging/setLevel", { level: "debug" });
  assert.equal((await persistent(() => line.post(level, session))).status, 200);
  const call = rpc("tools/call", { name: "greet", arguments: {} });
  const { result } = await persistent(() => line.post(call, session));
  assert.equal(result.content[0].text, "hello");
  const ended = await line.fetch("/mcp", {
    method: "DELETE",
    headers: session,
  });
  await ended.body?.cancel();
  // 503 while the server has not noticed yet that its database is back.
  if (!line.hasDied) assert([202, 503].includes(ended.status));
  const gone = async () =>
    (await line.fetch("/mcp", { method: "DELETE", headers: session })).status;
  for (let status = ended.status; status !== 404; status = await gone()) {
    assert([202, 503].includes(status), String(status));
  }
  return async () => {
    const { status } = await persistent(() => line.post(call, session));
    assert.equal(status, 404);
  };
});

testFaults("a question", { tools: [confirm] }, async (line) => {
  const session = await open(line, { elicitation: {} });
  const persistent = async (message: Json) => {
    for (;;) {
      const response = await line.post(message, session);
      if (response.status !== 503) return response;
      await response.body?.cancel();
    }
  };
  const response = await persistent(
    rpc("tools/call", { name: "confirm", arguments: {} }),
  );
  assert(isStream(response), String(response.status));
  const events = new Events(response);
  const { id, method } = await events.read();
  assert.equal(method, "elicitation/create");
  const answer = { jsonrpc: "2.0", id, result: ANSWER };
  assert.equal(await statusOf(persistent(answer)), 202);
  const { result } = await events.read();
  assert.equal(result.content[0].text, LARGE);
  await events.close();
}, STAYING);

async function stateless(line: Line, method: string, params: Json) {
  for (;;) {
    const answer = await answerOf(
      await line.call(method, params, { capabilities }),
    );
    if (answer.status !== 503 || line.hasDied) return answer;
  }
}

/** Begins a task; undefined if its process has died meanwhile. */
async function begin(line: Line, name: string): Promise<string | undefined> {
  const params = { name, arguments: {} };
  const { result } = await stateless(line, "tools/call", params);
  return line.hasDied ? undefined : result.taskId;
}

/**
 * Gives the task once it has changed; undefined if its process has died
 * meanwhile.
 */
async function next(
  line: Line,
  taskId: string,
  status = "working",
): Promise<Json | undefined> {
  let task: Json;
  await until(async () => {
    const { result } = await stateless(line, "tasks/get", { taskId });
    task = result;
    return line.hasDied || task.status !== status;
  });
  return line.hasDied ? undefined : task;
}

testFaults("a task", { tools: [work], env: { BASE_URL } }, async (line) => {
  const taskId = await begin(line, "work");
  const task = taskId && await next(line, taskId);
  if (!task) return;
  return async () => {
    const { result } = await stateless(line, "tasks/get", { taskId });
    if (line.hasDied) return;
    assert.equal(result.status, "completed");
    assert.equal(result.result.content[0].text, LARGE);
  };
}, FAULTS);

testFaults("a task that is cancelled", {
  tools: [wait],
  env: { BASE_URL },
}, async (line) => {
  const taskId = await begin(line, "wait");
  if (!taskId) return;
  const { status } = await stateless(line, "tasks/cancel", { taskId });
  assert.equal(status, 200);
  const task = await next(line, taskId);
  assert.equal(task?.status, "cancelled");
  return async () => {
    const { result } = await stateless(line, "tasks/get", { taskId });
    assert.equal(result.status, "cancelled");
  };
}, STAYING);

testFaults("a task that asks", { tools: [discuss] }, async (line) => {
  const taskId = (await begin(line, "discuss"))!;
  const { status, inputRequests } = await next(line, taskId);
  assert.equal(status, "input_required");
  assert.equal(inputRequests.word.params.message, LARGE);
  const inputResponses = { word: ANSWER };
  const taken = await stateless(line, "tasks/update", {
    taskId,
    inputResponses,
  });
  assert.equal(taken.status, 200);
  const task = await next(line, taskId);
  assert.equal(task.status, "completed");
  assert.equal(task.result.content[0].text, LARGE);
  return async () => {
    const { result } = await stateless(line, "tasks/get", { taskId });
    assert.equal(result.status, "completed");
  };
}, STAYING);
