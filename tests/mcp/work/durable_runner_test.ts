import assert from "node:assert/strict";
import { ANONYMOUS } from "../../../src/caller.ts";
import { StorageError } from "../../../src/errors.ts";
import { DurableRunner } from "../../../src/mcp/work/durable_runner.ts";
import type { Resumed } from "../../../src/mcp/work/run_at_work.ts";
import { Database } from "../../../src/store/database.ts";
import { taskRunStore } from "../../../src/store/task_runs.ts";
import { taskStore } from "../../../src/store/tasks.ts";
import { test } from "../../kit/databases.ts";
import { silentLogger } from "../../kit/log.ts";

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
