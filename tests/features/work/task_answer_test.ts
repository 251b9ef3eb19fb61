import assert from "node:assert/strict";
import type { Call } from "../../../src/core/mcp/exchange/call.ts";
import {
  handOverResult,
  knowsTasks,
  printTask,
  resultOfTask,
  stateOf,
  stillWorkingResult,
  unknownTaskResult,
} from "../../../src/features/work/task_answer.ts";
import { parseNotYet } from "../../../src/core/protocol/not_yet.ts";
import type { Task } from "../../../src/features/work/tasks.ts";

const TASK: Task = {
  taskId: "t",
  scopes: [],
  status: "working",
  createdMilliseconds: 0,
  updatedMilliseconds: 0,
  expiresAt: 86400,
};

function asked(params: Record<string, unknown>): Task {
  const inputRequests = { q: { method: "elicitation/create", params } };
  return { ...TASK, status: "input_required", inputRequests };
}

Deno.test("stateOf() tells how far a task is, or what it waits for", () => {
  assert.equal(stateOf(TASK), "The tool still runs.");
  const far = { ...TASK, statusMessage: "3 of 9" };
  assert.equal(stateOf(far), "The tool still runs: 3 of 9.");
  const link = "https://tools.example.com/wait/x";
  assert.equal(
    stateOf({ ...TASK, waitsFor: `Pay\n${link}` }),
    `The tool waits:\nPay\n${link}\n`,
  );
  assert.equal(
    stateOf(asked({ message: "Who?" })),
    "The tool waits for an answer to “Who?”.",
  );
  assert.equal(
    stateOf(asked({ message: "Pay", url: "https://pay.example.com/1" })),
    "The tool waits for an answer to “Pay”, at https://pay.example.com/1.",
  );
  assert.equal(stateOf(asked({})), "The tool waits for an answer.");
  const page = "https://tools.example.com/account/work?task=t";
  const who = asked({ message: "Who?" });
  assert.equal(
    stateOf(who, page),
    `The tool waits for an answer to “Who?”. It can be given on a page too:\n${page}\n`,
  );
  const roots = { q: { method: "roots/list", params: {} } };
  const silent = { ...who, inputRequests: roots };
  assert.equal(stateOf(silent, page), "The tool waits for an answer.");
  assert(stateOf(asked({ message: "x".repeat(9000) })).length < 1000);
});

Deno.test("a task that sleeps or waits tells so, in its status and to a model", () => {
  const asleep = { ...TASK, sleepsUntil: 60 };
  const told = (
    task: Task,
  ) => [printTask(task, 0).statusMessage, stateOf(task)];
  const end = "until 1970-01-01T00:01:00Z";
  assert.deepEqual(told(asleep), [`Sleeps ${end}`, `The tool sleeps ${end}.`]);
  assert.deepEqual(told({ ...asleep, statusMessage: "0 of 1: at 0" }), [
    `Sleeps ${end}: 0 of 1: at 0`,
    `The tool sleeps ${end}: 0 of 1: at 0.`,
  ]);
  const waits = { ...asleep, statusMessage: "0 of 1", waitsFor: "payment" };
  assert.deepEqual(told(waits), ["payment", "The tool waits: payment."]);
  assert.deepEqual(told({ ...asleep, status: "completed" }), [
    undefined,
    "The task is completed.",
  ]);
});

Deno.test("handOverResult() is an error only where clients want structured content", () => {
  const own = 'call task_status .*, or task_cancel .*"taskId":"t"';
  const again = "It goes on: call led again with the same arguments";
  for (
    const [output, taskTools, words] of [
      [undefined, ["task_status"], own],
      [{}, ["task_status"], own],
      [undefined, [], again],
      [{}, [], again],
    ] as const
  ) {
    const call = {
      catalogue: {
        tools: new Map([["led", { output }]]),
        taskTools: new Set(taskTools),
      },
      params: { name: "led" },
      engine: {},
    } as unknown as Call;
    const result = handOverResult(TASK, call);
    const { isError, content } = result;
    assert.equal(isError, output && true);
    const { text } = content[0] as { text: string };
    assert.match(text, new RegExp(words));
    assert.equal(text.startsWith("Nothing has failed. "), output !== undefined);
    const state = "The tool still runs.";
    assert.deepEqual(parseNotYet(result), {
      taskId: "t",
      state,
      ...words === again && { isRepeatable: true },
    });
  }
});

Deno.test("parseNotYet() knows no other answer than that of a task that goes on", () => {
  const call = { engine: {} } as Call;
  const told = stillWorkingResult({ ...TASK, statusMessage: "3 of 9" }, call);
  const state = "The tool still runs: 3 of 9.";
  assert.deepEqual(parseNotYet(told), { taskId: "t", state });
  const { content } = told;
  const meta = { "tool-server/task": { taskId: 1, state } };
  for (
    const other of [{ content }, { content, _meta: meta }, unknownTaskResult()]
  ) {
    assert.equal(parseNotYet(other), undefined);
  }
});

Deno.test("resultOfTask() gives structured content to those who take it", () => {
  const list = { content: [], structuredContent: [1] };
  const object = { content: [], structuredContent: { n: 1 } };
  const give = (outcome: Record<string, unknown>, stateless: boolean) =>
    resultOfTask({ ...TASK, status: "completed", outcome }, { stateless });
  assert.deepEqual(give(list, true), list);
  assert.deepEqual(give(list, false), { content: [] });
  assert.deepEqual(give(object, false), object);
});

Deno.test("printTask() lets clients poll less and less often while nothing changes", () => {
  const task = {
    taskId: "t",
    scopes: [],
    status: "working",
    createdMilliseconds: 500,
    updatedMilliseconds: 10_000,
    expiresAt: 60,
  } as const;
  const polls = [0, 9, 10, 30, 120, 600, 86400].map((seconds) =>
    printTask(task, 10_000 + seconds * 1000).pollIntervalMs
  );
  assert.deepEqual(polls, [1000, 1000, 2000, 5000, 15_000, 30_000, 30_000]);
  assert.equal(printTask(task, 0).ttlMs, 60_000);
});

Deno.test("knowsTasks() takes a client's word, and no other extension for it", () => {
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const revision = "2026-07-28";
  assert.equal(knowsTasks({ capabilities, revision }), true);
  for (const extensions of [undefined, {}, { other: {} }]) {
    assert.equal(knowsTasks({ capabilities: { extensions }, revision }), false);
  }
});
