import assert from "node:assert/strict";
import { ChallengeError } from "../../../src/core/errors.ts";
import type { Caller } from "../../../src/core/caller.ts";
import type { Result } from "../../../src/core/mcp/exchange/answer.ts";
import type { LastingCall } from "../../../src/features/work/task_engine.ts";
import { findTask } from "../../../src/features/work/task_following.ts";
import { getTask } from "../../../src/features/work/task_methods.ts";
import { statelessPrinter } from "../../../src/core/protocol/results.ts";
import type { Task, TaskStore } from "../../../src/features/work/tasks.ts";
import { rejects } from "../../kit/refuses.ts";
import { settled } from "../../kit/wait.ts";

const TASK: Task = {
  taskId: "t",
  scopes: ["mail"],
  status: "working",
  createdMilliseconds: 0,
  updatedMilliseconds: 0,
  expiresAt: 86400,
};
const ADA: Caller = { subject: "ada", binding: "ada", scopes: ["mail"] };
const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Asks for a task; `used` holds the grants that are recorded for it. */
async function get(caller: Caller, store: Partial<TaskStore> = {}) {
  const used: unknown[] = [];
  const tasks = {
    find: () => Promise.resolve(TASK),
    adopt: () => Promise.resolve(undefined),
    readUse: () => Promise.resolve(undefined),
    use: (_taskId: string, { grantId }: Caller) => {
      used.push(grantId);
      return Promise.resolve();
    },
    ...store,
  };
  const call = {
    client: { capabilities },
    caller,
    engine: { tasks, clock: () => 0 },
    params: { taskId: "t" },
    printedLists: { printer: statelessPrinter({ name: "s", version: "1" }) },
  } as unknown as LastingCall;
  const { result } = await getTask(call) as Result;
  return { used, task: JSON.parse(result) };
}

Deno.test("who asks for a task uses it with their grant, if they have one", async () => {
  assert.deepEqual((await get({ ...ADA, grantId: "g" })).used, ["g"]);
  const readUse = () => assert.fail("no grant, no use");
  assert.deepEqual((await get(ADA, { readUse })).used, []);
});

Deno.test("a task that is not there is unknown, whatever else fails", async () => {
  const find = () => Promise.resolve(undefined);
  const readUse = () => Promise.reject(new Error("away"));
  await rejects(get({ ...ADA, grantId: "g" }, { find, readUse }), -32602);
  await settled();
});

Deno.test("findTask() asks for the scopes of the task's tool, where they can be had", async () => {
  const tasks = { find: () => Promise.resolve(TASK) };
  assert.equal(await findTask(tasks, ADA, "t"), TASK);
  await assert.rejects(
    findTask(tasks, { ...ADA, scopes: [] }, "t"),
    ChallengeError,
  );
  const beyond = { ...ADA, scopes: [], ceiling: [] };
  assert.equal(await findTask(tasks, beyond, "t"), undefined);
});
