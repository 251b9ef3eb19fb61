/** Answers of people to durable work, which goes on in runs of another order. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../src/authoring/tool.ts";
import { resultOf } from "../../kit/answer.ts";
import { test } from "../../kit/databases.ts";
import type { Json } from "../../kit/message.ts";
import { type Sender, startServer, type TestServer } from "../../kit/server.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

const capabilities = { ...TASKS, elicitation: {}, sampling: {} };

async function beginTask(server: Sender, name: string): Promise<string> {
  const begun = server.call("tools/call", { name }, { capabilities });
  return (await resultOf(begun)).taskId;
}

function readTask(server: Sender, taskId: string): Promise<Json> {
  return resultOf(server.call("tasks/get", { taskId }, { capabilities }));
}

/** Answers the open questions by what they ask, and waits for the end. */
async function followTo(
  server: TestServer,
  taskId: string,
  answer: (params: Json) => Json,
  slow?: PromiseWithResolvers<void>,
): Promise<Json> {
  let task: Json;
  const asks = async (count: number) => {
    task = await readTask(server, taskId);
    return Object.keys(task.inputRequests ?? {}).length === count;
  };
  await until(() => asks(1));
  if (slow) {
    slow.resolve();
    await until(() => asks(2));
  }
  await until(() => server.app.running === 0);
  const requests: [string, Json][] = Object.entries(task.inputRequests);
  const inputResponses = Object.fromEntries(
    requests.map(([key, { params }]) => [key, answer(params)]),
  );
  const update = { taskId, inputResponses };
  await resultOf(server.call("tasks/update", update, { capabilities }));
  await until(async () => {
    task = await readTask(server, taskId);
    return task.status !== "working" && task.status !== "input_required";
  });
  return task;
}

test.inMemory("two durable questions side by side each get their own answer, though their order changes in the replay", async ({ kv }) => {
  const slow = Promise.withResolvers<void>();
  const deleted: string[] = [];
  const clean = tool({
    name: "clean",
    task: { durable: true },
    async run(_input, { ask, step }) {
      const branch = async (name: string, ready: Promise<void>) => {
        await step(`look at ${name}`, () => ready);
        const schema = z.object({ sure: z.boolean() });
        const answer = await ask({ message: `Delete ${name}?`, schema });
        if (answer.action === "accept" && answer.content.sure) {
          await step(`delete ${name}`, () => void deleted.push(name));
        }
      };
      await Promise.all([
        branch("A", slow.promise),
        branch("B", Promise.resolve()),
      ]);
      return "clean";
    },
  });
  await using server = await startServer({ tools: [clean], kv });
  const taskId = await beginTask(server, "clean");
  const task = await followTo(server, taskId, ({ message }) => ({
    action: "accept",
    content: { sure: message === "Delete B?" },
  }), slow);
  assert.equal(task.status, "completed", JSON.stringify(task));
  assert.deepEqual(deleted, ["B"]);
});

test.inMemory("two samples of durable work side by side each get their own answer", async ({ kv }) => {
  const slow = Promise.withResolvers<void>();
  const think = tool({
    name: "think",
    task: { durable: true },
    async run(_input, { sample, step }) {
      const branch = async (name: string, ready: Promise<void>) => {
        await step(`look at ${name}`, () => ready);
        const { content } = await sample({
          messages: [{ role: "user", content: { type: "text", text: name } }],
          maxTokens: 10,
        });
        return `${name}: ${JSON.stringify(content)}`;
      };
      const both = await Promise.all([
        branch("A", slow.promise),
        branch("B", Promise.resolve()),
      ]);
      return both.join();
    },
  });
  await using server = await startServer({ tools: [think], kv });
  const taskId = await beginTask(server, "think");
  const task = await followTo(server, taskId, ({ messages }) => ({
    model: "test",
    role: "assistant",
    content: { type: "text", text: `about ${messages[0].content.text}` },
  }), slow);
  assert.equal(task.status, "completed", JSON.stringify(task));
  const { text } = task.result.content[0];
  assert.match(text, /^A: .*"about A".*,B: .*"about B"/);
});

test.inMemory("an answer counts for no question that asks something else in the replay", async ({ kv }) => {
  let price = 10;
  const bought: number[] = [];
  const buy = tool({
    name: "buy",
    task: { durable: true },
    async run(_input, { ask, step }) {
      const schema = z.object({ sure: z.boolean() });
      const asked = price;
      const message = `Buy for ${asked}?`;
      const answer = await ask({ key: "buy", message, schema });
      if (answer.action === "accept") {
        await step("buy", () => void bought.push(asked));
      }
      return "bought";
    },
  });
  await using server = await startServer({ tools: [buy], kv });
  const taskId = await beginTask(server, "buy");
  const task = await followTo(server, taskId, () => {
    price = 1000;
    return { action: "accept", content: { sure: true } };
  });
  assert.equal(task.status, "failed", JSON.stringify(task));
  assert.match(task.error.message, /has changed since this work began/);
  assert.deepEqual(bought, []);
});
