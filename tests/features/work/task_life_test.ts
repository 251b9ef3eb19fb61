/**
 * The life of a task: adopted, used, waited for and renewed.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import {
  HEARTBEAT_SECONDS,
  LAPSE_SECONDS,
  LEASE_SECONDS,
} from "../../../src/core/kv/leases.ts";
import { taskKey } from "../../../src/core/kv/keys.ts";
import { type TaskStore, taskStore } from "../../../src/features/work/tasks.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { settled, until } from "../../kit/wait.ts";
import { FakeTime, SteadyTime } from "../../kit/fake_time.ts";
import { test } from "../../kit/databases.ts";
import { losing, overtaken } from "../../kit/overtaken_kv.ts";
import { kvThrough, kvWith } from "../../kit/kv.ts";

/** A task whose lease has run out. */
interface Lapsed {
  kv: Deno.Kv;
  tasks: TaskStore;
}

test.inMemory("end() of a task that was cancelled before is none", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "someone" });
  assert(await tasks.end("t", { status: "cancelled" }));
  assert.equal(await tasks.end("t", { status: "cancelled" }), false);
});

test.inMemory("nothing happens to a task that is none", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  await tasks.setMessages("none", { statusMessage: "working" });
  assert.equal(await tasks.renewLease("none"), false);
  assert.equal(await tasks.end("none", { status: "cancelled" }), false);
  await tasks.use("none", { binding: "someone", grantId: "g" });
  await tasks.ended("none", new AbortController().signal);
  assert.deepEqual(await Array.fromAsync(kv.list({ prefix: [] })), []);
});

test.inMemory("hasMany() tells whether there are so many", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  for (const id of ["1", "2"]) {
    await tasks.create(id, { binding: "someone" }, { list: "network" });
  }
  assert.equal(await tasks.hasMany("network", 2), true);
  assert.equal(await tasks.hasMany("network", 3), false);
});

test.inMemory("use() writes nothing while one grant uses a task", async ({ kv }) => {
  const owner = { binding: "someone", grantId: "g" };
  await taskStore(new Database(kv)).create("t", owner);
  const place = losing(kv);
  await taskStore(new Database(place.kv)).use("t", owner);
  assert.equal(place.commits, 0);
});

test.inMemory("renewLease() renews it though something else is written at the same time", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "someone" });
  time.tick(20);
  const slow = overtaken(
    kv,
    () => tasks.setMessages("t", { statusMessage: "half way" }),
  );
  assert(await taskStore(new Database(slow)).renewLease("t"));
  time.tick(20);
  const { tasks: [task] } = await tasks.newest(["someone"], 1);
  assert.deepEqual([task.status, task.isUnattended], ["working", false]);
});

test.inMemory("renewLease() writes the record of a task once in half an hour", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "someone" });
  const version = async () => (await kv.get(taskKey("t"))).versionstamp;
  const first = await version();
  time.tick(29 * 60);
  await tasks.renewLease("t");
  assert.equal(await version(), first);
  time.tick(60);
  await tasks.renewLease("t");
  assert.notEqual(await version(), first);
});

test.onDatabases("a task stays for a day after its end, and as long as it runs before that", async ({ kv, other }) => {
  using time = new FakeTime();
  const tasks = taskStore(new Database(kv));
  const owner = { binding: "someone", grantId: "g" };
  const own = { list: "network", repeat: "again" };
  await tasks.create("t", owner, own);
  await tasks.create("short", owner);
  for (let hours = 0; hours < 60; hours++) {
    time.tick(3600 / 2);
    assert.equal(await tasks.renewLease("t"), true);
    time.tick(3600 / 2 - 1);
    assert.equal(await tasks.renewLease("t"), true);
    if (hours === 0) await tasks.end("short", { status: "cancelled" });
  }
  assert.equal(await tasks.hasMany("network", 1), true);
  assert.deepEqual(await tasks.repeatedBy("again"), ["t"]);
  const completed = { status: "completed", outcome: { content: [] } } as const;
  assert(await tasks.end("t", completed));
  time.tick(24 * 3600);
  const late = taskStore(new Database(other));
  assert.equal((await late.find("t", "someone"))?.status, "completed");
  assert.equal(await late.hasMany("network", 1), true);
  assert.equal(await late.find("short", "someone"), undefined);
  time.tick(3600);
  assert.equal(await late.find("t", "someone"), undefined);
  assert.equal(await late.hasMany("network", 1), false);
});

test.inMemory("next() waits until a task changes, and notices that its process is gone", async ({ kv }) => {
  using time = new FakeTime();
  let reads = 0;
  const counted = kvWith(kv, {
    getMany(keys: Deno.KvKey[]) {
      reads++;
      return kv.getMany(keys);
    },
  });
  const tasks = taskStore(new Database(counted), { lapseSeconds: 0 });
  const task = await tasks.create("t", { binding: "someone" });
  let isOver = false;
  const next = tasks.next(task, "someone", new AbortController().signal)
    .finally(() => isOver = true);
  await until(() => reads > 0);
  const before = reads;
  // Another turn is no reason to read.
  for (let n = 0; n < 10; n++) {
    await new Promise((resolve) => setTimeout(resolve));
  }
  assert(reads < before + 10);
  time.tick(HEARTBEAT_SECONDS);
  const looked = reads;
  await until(() => reads > looked + 3);
  assert.equal(isOver, false);
  time.tick(LEASE_SECONDS);
  assert.equal((await next)?.status, "failed");
});

test.inMemory("find() gives no task whose result has just expired", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "someone" });
  const outcome = { text: "x".repeat(100_000) };
  await tasks.end("t", { status: "completed", outcome });
  for await (const { key } of kv.list({ prefix: ["text"] })) {
    await kv.delete(key);
  }
  assert.equal(await tasks.find("t", "someone"), undefined);
});

test.inMemory("find() takes a result that cannot be read for none that has expired", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "someone" });
  const outcome = { text: "x".repeat(100_000) };
  await tasks.end("t", { status: "completed", outcome });
  const away = kvThrough(kv, (operation, keys) => {
    if (keys?.flat()[0] === "text") throw new TypeError("no answer");
    return operation();
  });
  await assert.rejects(taskStore(new Database(away)).find("t", "someone"));
});

for (
  const [what, change, status] of [
    ["it has failed", () => {}, "failed"],
    ["it is renewed", ({ tasks }) => tasks.renewLease("t"), "working"],
    ["its task is gone", ({ kv }) => kv.delete(taskKey("t")), undefined],
  ] as [string, (lapsed: Lapsed) => unknown, string | undefined][]
) {
  test.inMemory(`find() of a lease that has run out looks again by itself until ${what}`, async ({ kv }) => {
    using time = new FakeTime();
    using steady = new SteadyTime();
    using _hasty = new HastyTimers([HEARTBEAT_SECONDS * 1000]);
    let reads = 0;
    const counted = kvWith(kv, {
      getMany(keys: Deno.KvKey[]) {
        reads++;
        return kv.getMany(keys);
      },
    });
    const database = new Database(counted);
    const tasks = taskStore(database);
    await tasks.create("t", { binding: "someone" });
    time.tick(LEASE_SECONDS);
    steady.tick(1);
    assert.equal((await tasks.find("t", "someone"))?.status, "working");
    await until(() => reads > 2);
    await change({ kv, tasks });
    await until(async () => {
      // A longer step would look as if the database had been away.
      if (status === "failed") steady.tick(LAPSE_SECONDS / 50);
      const { value } = await kv.get<{ status: string }>(taskKey("t"));
      return value?.status === status;
    });
    await until(async () => {
      const before = reads;
      for (let turn = 0; turn < 10; turn++) await settled();
      return reads === before;
    });
    await database.idle();
  });
}

test.inMemory("userOf() knows who used a task of today, whatever name their issuer had before", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  const binding = JSON.stringify([
    "https://a.example",
    "r",
    "https://i.example#1",
  ]);
  await tasks.create("t", { binding, grantId: "g" });
  assert.equal(await tasks.userOf("t", binding), "g");
});

test.inMemory("forgetAllOf() leaves nothing of a task but its end, and nothing of a list whose task is gone", async ({ kv }) => {
  const database = new Database(kv);
  const tasks = taskStore(database);
  const text = "x".repeat(100_000);
  await tasks.create("done", { binding: "someone" });
  await tasks.end("done", { status: "completed", outcome: { text } });
  await tasks.create("gone", { binding: "someone" });
  await kv.delete(taskKey("gone"));
  await tasks.create("another's", { binding: "eve" });
  await tasks.forgetAllOf("someone");
  assert.deepEqual(await database.list(["text"]), []);
  assert.equal(await tasks.hasMany("someone", 1), false);
  assert(await tasks.find("another's", "eve"));
});
