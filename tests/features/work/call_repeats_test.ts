import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const ADA = { binding: "ada" };

test.onDatabases("markLong() names a tool to every process within ten seconds, for a day and an hour", async ({ kv, other }) => {
  using time = new FakeTime();
  const [here, there] = [kv, other].map((kv) => taskStore(new Database(kv)));
  const names = async (tasks: typeof here) => [...await tasks.longTools()];
  assert.deepEqual(await names(there), []);
  await here.markLong("slow");
  assert.deepEqual(await names(here), ["slow"]);
  time.tick(9);
  assert.deepEqual(await names(there), []);
  time.set(-60);
  time.tick(1);
  assert.deepEqual(await names(there), ["slow"]);
  time.tick(25 * 60 * 60 + 60);
  assert.deepEqual(await names(there), []);
});

test.inMemory("longTools() gives at once what it has read, and what it knew while the database is away", async ({ kv }) => {
  using time = new FakeTime();
  let isAway = false;
  const list = kv.list.bind(kv);
  kv.list = (...args) => {
    if (isAway) throw new Error("away");
    return list(...args);
  };
  const tasks = taskStore(new Database(kv));
  await tasks.markLong("slow");
  const reading = tasks.longTools();
  assert.equal(tasks.longTools(), reading);
  await reading;
  assert.deepEqual(tasks.longTools(), new Set(["slow"]));
  isAway = true;
  time.tick(10);
  assert.deepEqual(await tasks.longTools(), new Set(["slow"]));
});

test.onDatabases("takeRepeated() gives a result to one repeat, and discard() and forgetAllOf() leave none", async ({ kv, other }) => {
  const [here, there] = [kv, other].map((kv) => taskStore(new Database(kv)));
  for (const taskId of ["a", "b", "c"]) {
    await here.create(taskId, ADA, { list: "ada", repeat: "r" });
  }
  await here.create("plain", ADA);
  assert.deepEqual(await there.repeatedBy("r"), ["a", "b", "c"]);
  assert.deepEqual(await there.repeatedBy("other"), []);
  const taken = await Promise.all(
    [here, there, here].map((tasks) => tasks.takeRepeated("r", "a")),
  );
  assert.deepEqual(taken.sort(), [false, false, true]);
  await here.discard("b", { list: "ada", repeat: "r" });
  assert.deepEqual(await there.repeatedBy("r"), ["c"]);
  // The name is for stores alone.
  assert.equal(Object.hasOwn((await here.find("c", "ada"))!, "repeat"), false);
  await here.forgetAllOf("ada");
  assert.deepEqual(await there.repeatedBy("r"), []);
});
