import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { taskRunKey } from "../../../src/core/kv/keys.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const BINDING = "ada";
const OWNER = { binding: BINDING, grantId: "g" };
const RUN = {
  tool: "report",
  scopes: ["report"],
  keep: 60,
  address: "",
  caller: { subject: BINDING, scopes: "all", ...OWNER },
} as const;
const BEGINNING = {
  input: {},
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
};

test.onDatabases("newest() lists durable work that goes on first, however old, then the newest, and says how many there are", async ({ kv, other }) => {
  using time = new FakeTime();
  const database = new Database(kv);
  const tasks = taskStore(database);
  const list = taskStore(new Database(other));
  const ids = async (most: number) => {
    const { tasks, count } = await list.newest([BINDING], most);
    return [count, ...tasks.map(({ taskId }) => taskId)];
  };
  await tasks.createDurable("old", RUN, BEGINNING, BINDING);
  for (const taskId of ["b", "a", "c"]) {
    time.tick(10);
    await tasks.create(taskId, OWNER, { tool: "plain" });
  }
  await tasks.create("another's", { binding: "eve" });
  assert.deepEqual(await ids(3), [4, "old", "c", "a"]);
  const { tasks: [old, newest] } = await list.newest([BINDING], 2);
  assert.deepEqual(
    [old.tool, old.grantId, old.scopes, old.isUnattended],
    ["report", "g", ["report"], false],
  );
  assert.deepEqual(
    [newest.tool, newest.isUnattended],
    ["plain", false],
  );
  await tasks.end("old", { status: "cancelled" });
  assert.deepEqual(await ids(9), [4, "c", "a", "b", "old"]);
  await database.idle();
});

test.onDatabases("newest() tells a failed tool from one that went well, and whom no process works on", async ({ kv, other }) => {
  using time = new FakeTime();
  const tasks = taskStore(new Database(kv));
  const list = taskStore(new Database(other));
  await tasks.create("t", OWNER);
  await tasks.end("t", {
    status: "completed",
    outcome: { isError: true, content: [] },
  });
  await tasks.create("well", OWNER);
  await tasks.end("well", { status: "completed", outcome: { content: [] } });
  await tasks.create("lost", OWNER);
  await tasks.createDurable("durable", RUN, BEGINNING, BINDING);
  await kv.delete(taskRunKey("durable"));
  // Others that a list counts are not those of its person.
  await tasks.create("stranger's", { binding: "eve" }, { list: BINDING });
  time.tick(31);
  const { tasks: found } = await list.newest([BINDING], 9);
  assert.deepEqual(
    found.map(({ taskId, isError, isUnattended }) => [
      taskId,
      isError,
      isUnattended,
    ]).sort(),
    [
      ["durable", undefined, false],
      ["lost", undefined, true],
      ["t", true, false],
      ["well", undefined, false],
    ],
  );
  assert.equal((await tasks.find("t", BINDING))?.isError, true);
});
