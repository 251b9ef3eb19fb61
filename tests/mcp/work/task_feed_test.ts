import assert from "node:assert/strict";
import type { Caller } from "../../../src/caller.ts";
import { parseTaskIds, TaskFeed } from "../../../src/mcp/work/task_feed.ts";
import { Database } from "../../../src/store/database.ts";
import { taskKey, taskLeaseKey } from "../../../src/store/keys.ts";
import type { TaskStatus } from "../../../src/store/task_record.ts";
import { LEASE_SECONDS } from "../../../src/store/leases.ts";
import { taskStore } from "../../../src/store/tasks.ts";
import { until } from "../../kit/wait.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { refuses } from "../../kit/refuses.ts";

const ME: Caller = { subject: "me", binding: "me", scopes: [] };
const never = new AbortController().signal;

Deno.test("parseTaskIds() gives each task once, and nothing for nothing", () => {
  assert.deepEqual(parseTaskIds({ taskIds: ["a", "b", "a"] }), ["a", "b"]);
  assert.deepEqual(parseTaskIds({ taskIds: Array(100).fill("a") }), ["a"]);
  assert.deepEqual(parseTaskIds({ taskIds: [] }), []);
  assert.equal(parseTaskIds({}), undefined);
});

for (const taskIds of ["a", [1], null, Array(101).fill("a")]) {
  Deno.test(`parseTaskIds() refuses ${JSON.stringify(taskIds).slice(0, 9)}`, () => {
    refuses(() => parseTaskIds({ taskIds }), -32602);
  });
}

test.onDatabases("find() gives a caller's own tasks", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  await tasks.create("mine", { binding: "me" });
  await tasks.create("yours", { binding: "you" });
  const found = await new TaskFeed(tasks, ME).find(["yours", "mine", "x"]);
  assert.deepEqual(found.map(({ taskId }) => taskId), ["mine"]);
});

test.onDatabases("follow() tells every state that another process makes, to the last", async ({ kv, other }) => {
  const feed = new TaskFeed(taskStore(new Database(kv)), ME);
  const elsewhere = taskStore(new Database(other));
  const task = await elsewhere.create("t", { binding: "me" });
  const heard: TaskStatus[] = [];
  const following = feed.follow(
    task,
    ({ status }) => heard.push(status),
    never,
  );
  const asked = elsewhere.ask(
    "t",
    "key",
    { method: "elicitation/create", params: {} },
    { signal: never },
  );
  await until(() => heard.includes("input_required"));
  await elsewhere.answer("t", { key: {} });
  await asked;
  await until(() => heard.at(-1) === "working");
  const outcome = {};
  await elsewhere.end("t", { status: "completed", outcome });
  await following;
  assert.deepEqual(heard, [
    "working",
    "input_required",
    "working",
    "completed",
  ]);
});

test.onDatabases("follow() tells the state of a task that has ended", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "me" });
  await tasks.end("t", { status: "cancelled" });
  const feed = new TaskFeed(tasks, ME);
  const heard: TaskStatus[] = [];
  const [task] = await feed.find(["t"]);
  await feed.follow(task, ({ status }) => heard.push(status), never);
  assert.deepEqual(heard, ["cancelled"]);
});

test.onDatabases("follow() notices that the process of a task has died", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = taskStore(new Database(kv), { confirmSeconds: 0 });
  const task = await tasks.create("t", { binding: "me" });
  const heard: TaskStatus[] = [];
  const following = new TaskFeed(tasks, ME).follow(
    task,
    ({ status }) => heard.push(status),
    never,
  );
  await kv.delete(taskLeaseKey("t"));
  time.tick(LEASE_SECONDS);
  await following;
  assert.deepEqual(heard, ["working", "failed"]);
});

test.onDatabases("follow() ends when a task is gone", async ({ kv, other }) => {
  const tasks = taskStore(new Database(kv));
  const task = await tasks.create("t", { binding: "me" });
  const feed = new TaskFeed(tasks, ME);
  const following = feed.follow(task, () => {}, never);
  await other.delete(taskKey("t"));
  await following;
});

test.onDatabases("follow() ends with the signal's reason", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  const task = await tasks.create("t", { binding: "me" });
  const abort = new AbortController();
  const feed = new TaskFeed(tasks, ME);
  const following = feed.follow(task, () => {}, abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(following, /enough/);
});
