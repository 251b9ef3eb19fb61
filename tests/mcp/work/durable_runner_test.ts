import assert from "node:assert/strict";
import { ANONYMOUS } from "../../../src/caller.ts";
import { StorageError } from "../../../src/errors.ts";
import { DurableRunner } from "../../../src/mcp/work/durable_runner.ts";
import type { Resumed } from "../../../src/mcp/work/run_at_work.ts";
import { Database } from "../../../src/store/database.ts";
import { taskRunStore } from "../../../src/store/task_runs.ts";
import { taskStore } from "../../../src/store/tasks.ts";
import { test } from "../../kit/databases.ts";
import { SteadyTime } from "../../kit/fake_time.ts";
import { silentLogger } from "../../kit/log.ts";
import { Timers } from "../../kit/timers.ts";

const RUN = { tool: "report", scopes: [], keep: 60, caller: ANONYMOUS };
const BEGINNING = {
  input: {},
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
};

const RESUMED = {
  work: { ...RUN, version: 1, run: () => Promise.resolve({ content: [] }) },
  request: {
    caller: ANONYMOUS,
    authenticated: { caller: ANONYMOUS },
    client: BEGINNING.client,
    endTask() {},
  },
} as unknown as Resumed;

function setUp(kv: Deno.Kv) {
  const database = new Database(kv);
  const tasks = taskStore(database);
  const runner = new DurableRunner(
    database,
    tasks,
    silentLogger,
    () => Promise.resolve(undefined),
  );
  return { database, tasks, runner };
}

test.inMemory("look() waits for the database between taking a run and its work", async ({ kv }) => {
  const database = new Database(kv);
  const tasks = taskStore(database);
  const { hold } = await tasks.createDurable("t", RUN, BEGINNING, "list");
  await taskRunStore(database).park(hold, database.now(), []);
  let reads = 0;
  let deaths: number | undefined;
  const runner = new DurableRunner(
    database,
    tasks,
    silentLogger,
    ({ run }) => {
      // The database stalls just after the turn was taken.
      if (++reads === 1) return Promise.reject(new StorageError());
      deaths = run.deaths;
      return Promise.resolve(RESUMED);
    },
  );
  await runner.wake();
  assert.deepEqual([reads, deaths], [2, 0]);
  assert.equal((await tasks.find("t", ANONYMOUS.binding))?.status, "completed");
  await runner.stop();
  await database.idle();
});

test.inMemory("stop() leaves work to others though the database is away then", async ({ kv }) => {
  using time = new SteadyTime();
  const { database, tasks, runner } = setUp(kv);
  const { taskId } = await runner.start(
    RESUMED.request!,
    { ...RESUMED.work, run: () => new Promise(() => {}) },
    BEGINNING,
  );
  const { commit } = database;
  database.commit = () => {
    database.commit = commit;
    time.tick(60);
    return Promise.reject(new StorageError());
  };
  await runner.stop();
  const task = await tasks.find(taskId, ANONYMOUS.binding);
  assert.equal(task?.status, "working");
  await database.idle();
});

test.inMemory("work whose permission has ended says so at its next step", async ({ kv }) => {
  using _timers = new Timers();
  const { database, tasks, runner } = setUp(kv);
  const isLive = () => Promise.resolve(false);
  const { taskId } = await runner.start(
    { ...RESUMED.request!, authenticated: { caller: ANONYMOUS, isLive } },
    {
      ...RESUMED.work,
      run: (_beginning, { step }) => step("mail", () => assert.fail()),
    },
    BEGINNING,
  );
  await runner.left(taskId);
  const task = await tasks.find(taskId, ANONYMOUS.binding);
  assert.match(
    `${task?.outcome?.message}`,
    /permission for this task has ended/,
  );
  await runner.stop();
  await database.idle();
});
