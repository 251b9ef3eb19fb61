import assert from "node:assert/strict";
import { ANONYMOUS } from "../../../src/core/caller.ts";
import { LimitError, StorageError } from "../../../src/core/errors.ts";
import { CallerBound } from "../../../src/core/mcp/exchange/limits.ts";
import {
  stepFailureStore,
  stepStore,
} from "../../../src/features/work/steps.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import {
  MAX_TASKS_KEPT,
  MAX_TASKS_PER_CALLER,
  TaskRegistry,
} from "../../../src/features/work/task_registry.ts";
import type {
  ClaimedWork,
  DurableWork,
  FindRun,
} from "../../../src/features/work/task_work.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { taskRunStore } from "../../../src/features/work/task_runs.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { test } from "../../kit/databases.ts";
import { SteadyTime } from "../../kit/fake_time.ts";
import { silentLogger } from "../../kit/log.ts";
import { Timers } from "../../kit/timers.ts";
import { until } from "../../kit/wait.ts";

const RUN = {
  tool: "report",
  scopes: [],
  keep: 60,
  caller: ANONYMOUS,
  address: "",
};
const BEGINNING = {
  input: {},
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
};

const START = { keep: 60, version: 1, address: "", beginning: BEGINNING };

const WORK: DurableWork = {
  tool: "report",
  version: 1,
  run: () => Promise.resolve({ content: [] }),
};

const RESUMED = {
  work: WORK,
  origin: {
    caller: ANONYMOUS,
    authenticated: { caller: ANONYMOUS },
    client: BEGINNING.client,
    endTask() {},
  },
  isAllowed: true,
} as unknown as ClaimedWork;

/** Opens a registry of which each task that is taken over is resumed so. */
function registryOn(
  database: Database,
  resume: FindRun = () => Promise.resolve(RESUMED),
) {
  const tasks = taskStore(database);
  const runner = new TaskRegistry({
    database,
    tasks,
    steps: stepStore(database),
    failures: stepFailureStore(database, silentLogger),
    waits: waitStore(database),
    log: silentLogger,
    questions: new CallerBound(10, "questions"),
    resume,
    addresses: () => [""],
  });
  return { tasks, runner };
}

function setUp(kv: Deno.Kv) {
  const database = new Database(kv);
  const { tasks, runner } = registryOn(database);
  const reports: string[] = [];
  const never: DurableWork["run"] = () => new Promise(() => {});
  return {
    database,
    tasks,
    runner,
    /** The outcomes that were reported. */
    reports,
    /** Begins work that does not end, or another. */
    start: (subject: string, run = never) =>
      runner.start(
        {
          ...RESUMED.origin,
          caller: { ...ANONYMOUS, subject, binding: subject },
          limitKey: { name: subject, isMany: false },
          endTask: (_taskId, outcome) => void reports.push(outcome),
        },
        { ...WORK, run },
        START,
      ),
    async [Symbol.asyncDispose]() {
      await runner.stop();
      await database.idle();
    },
  };
}

test.inMemory("look() waits for the database between taking a run and its work", async ({ kv }) => {
  const database = new Database(kv);
  const { claim } = await taskStore(database)
    .createDurable("t", RUN, BEGINNING, "list");
  await taskRunStore(database).park(claim, database.now(), []);
  let reads = 0;
  let deaths: number | undefined;
  const { tasks, runner } = registryOn(database, ({ run }) => {
    // The database stalls just after the run was claimed.
    if (++reads === 1) return Promise.reject(new StorageError());
    deaths = run.deaths;
    return Promise.resolve(RESUMED);
  });
  await runner.wake();
  assert.deepEqual([reads, deaths], [2, 0]);
  assert.equal((await tasks.find("t", ANONYMOUS.binding))?.status, "completed");
  await runner.stop();
  await database.idle();
});

test.inMemory("stop() leaves work to others though the database is away then", async ({ kv }) => {
  using time = new SteadyTime();
  await using own = setUp(kv);
  const { database, tasks, runner } = own;
  const { task: { taskId } } = await own.start(ANONYMOUS.binding);
  const { commit } = database;
  database.commit = () => {
    database.commit = commit;
    time.tick(60);
    return Promise.reject(new StorageError());
  };
  await runner.stop();
  const task = await tasks.find(taskId, ANONYMOUS.binding);
  assert.equal(task?.status, "working");
});

test.inMemory("work whose permission has ended says so at its next step", async ({ kv }) => {
  using _timers = new Timers();
  await using own = setUp(kv);
  const { tasks, runner } = own;
  const isLive = () => Promise.resolve(false);
  const { task: { taskId }, done } = await runner.start(
    { ...RESUMED.origin, authenticated: { caller: ANONYMOUS, isLive } },
    { ...WORK, run: ({ step }) => step("mail", () => assert.fail()) },
    START,
  );
  await done;
  const task = await tasks.find(taskId, ANONYMOUS.binding);
  assert.match(
    `${task?.outcome?.message}`,
    /permission for this task has ended/,
  );
});

test.inMemory("work whose end was stored reports it once, though no answer told so", async ({ kv }) => {
  await using own = setUp(kv);
  const { tasks } = own;
  const { end } = tasks;
  tasks.end = async (...args) => {
    tasks.end = end;
    await end(...args);
    throw new StorageError();
  };
  const { done } = await own.start("ada", WORK.run);
  await done;
  assert.deepEqual(own.reports, ["ok"]);
});

test.inMemory("work whose end no answer tells is reported, though its process stops", async ({ kv }) => {
  await using own = setUp(kv);
  const { tasks, runner } = own;
  const { end } = tasks;
  let isAway = true;
  tasks.end = async (...args) => {
    if (isAway) await end(...args);
    isAway = false;
    throw new StorageError();
  };
  await own.start("ada", WORK.run);
  await until(() => !isAway);
  await runner.stop();
  assert.deepEqual(own.reports, ["ok"]);
});

const limit = (words: RegExp) => (error: unknown) => {
  assert(error instanceof LimitError);
  assert.match(error.message, words);
  return true;
};

test.inMemory("a person has a hundred pieces of durable work at work and no more, and others have theirs", async ({ kv }) => {
  await using own = setUp(kv);
  for (let n = 0; n < MAX_TASKS_PER_CALLER; n++) await own.start("ada");
  await assert.rejects(own.start("ada"), limit(/tasks at a time/));
  await own.start("bob");
});

test.inMemory("a person has a thousand pieces of durable work in all, asleep or over", async ({ kv }) => {
  await using own = setUp(kv);
  const owner = { binding: "ada" };
  for (let n = 0; n < MAX_TASKS_KEPT; n++) {
    await own.tasks.create(`t${n}`, owner);
  }
  await assert.rejects(own.start("ada"), limit(/stored tasks/));
  await own.start("bob");
});
