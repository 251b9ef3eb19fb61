import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { taskRunStore } from "../../../src/features/work/task_runs.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { workAhead } from "../../../src/features/work/run_record.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const RUN = {
  tool: "report",
  scopes: [],
  keep: 60,
  address: "",
  caller: { subject: "ada", scopes: "all", binding: "ada" },
} as const;
const BEGINNING = {
  input: { secret: "of ada" },
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
};

test.onDatabases("workAhead() lists each piece of work once, the most overdue first, without what it was given", async ({ kv, other }) => {
  using time = new FakeTime();
  const database = new Database(kv);
  const tasks = taskStore(database);
  const runs = taskRunStore(database);
  const begin = async (taskId: string) =>
    (await tasks.createDurable(taskId, RUN, BEGINNING, "ada")).claim;
  const now = database.now();
  await runs.park(await begin("later"), now + 500, []);
  await runs.park(await begin("sooner"), now + 300, [], { missingSince: now });
  await begin("ended");
  await tasks.end("ended", { status: "cancelled" });
  await runs.park(await begin("asking"), undefined, []);
  time.tick(1);
  await begin("at work");
  const found = await workAhead(new Database(other), 10);
  assert.deepEqual(
    found.work.map((one) => [one.taskId, one.isParked, one.missingSince]),
    [
      ["at work", false, undefined],
      ["sooner", true, now],
      ["later", true, undefined],
    ],
  );
  assert.equal(found.work[0].createdAt, now + 1);
  assert.equal(found.hasMore, false);
  assert.doesNotMatch(JSON.stringify(found), /ada|secret/);
  // In any order of the addresses.
  for (const [n, address] of ["a", "b", "c", "d"].entries()) {
    const run = { ...RUN, address };
    const { claim } = await tasks.createDurable(address, run, BEGINNING, "ada");
    await runs.park(claim, now + 200 - n, []);
  }
  const first = await workAhead(new Database(other), 4);
  assert.deepEqual(
    first.work.map(({ taskId }) => taskId),
    ["at work", "d", "c"],
  );
  for (const taskId of ["a", "b", "c", "d"]) {
    await tasks.end(taskId, { status: "cancelled" });
  }
  const cut = await workAhead(new Database(other), 2);
  assert.deepEqual([cut.work.length, cut.hasMore], [1, true]);
});
