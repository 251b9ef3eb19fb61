import assert from "node:assert/strict";
import { RunPoller } from "../../../src/features/work/run_poller.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { stepStore } from "../../../src/features/work/steps.ts";
import { taskRunStore } from "../../../src/features/work/task_runs.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { wakeStore } from "../../../src/features/work/run_record.ts";
import { FakeTime, SteadyTime } from "../../kit/fake_time.ts";
import { silentLogger } from "../../kit/log.ts";

const BEGINNING = {
  input: {},
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
};

/** Leaves work of people to be taken, in their order. */
async function leave(
  database: Database,
  people: readonly (readonly [name: string, times: number])[],
  { address = "", characters = 0 } = {},
) {
  const tasks = taskStore(database);
  const runs = taskRunStore(database);
  for (const [name, times] of people) {
    const caller = { subject: name, scopes: "all", binding: name } as const;
    const limitKey = { name, isMany: false };
    const work = { tool: "work", scopes: [], keep: 60, address };
    const run = { ...work, caller, limitKey };
    for (let n = 0; n < times; n++) {
      const id = `${name}-${n}`;
      const { claim } = await tasks.createDurable(id, run, BEGINNING, name);
      claim.characters = characters;
      await runs.park(claim, database.now());
    }
  }
}

/** Takes work over with `takeOver`, as a process does. */
function pollerOf(
  database: Database,
  takeOver: ConstructorParameters<typeof RunPoller>[0]["takeOver"],
): RunPoller {
  return new RunPoller({
    database,
    runs: taskRunStore(database),
    steps: stepStore(database),
    log: silentLogger,
    stopping: new AbortController().signal,
    addresses: () => [""],
    takeOver,
  });
}

Deno.test("look() takes work of its own addresses, however much of another is due", async () => {
  using kv = memoryKv();
  const database = new Database(kv);
  const address = "https://old.example.com";
  await leave(database, [["b", 300]], { address });
  await leave(database, [["a", 2]]);
  const taken: string[] = [];
  const poller = pollerOf(database, ({ taskId }) => {
    taken.push(taskId);
    return Promise.resolve({ done: Promise.resolve() });
  });
  await poller.poll();
  assert.deepEqual(taken.sort(), ["a-0", "a-1"]);
});

Deno.test("look() leaves places to others where four people have more work than a process takes", async () => {
  using kv = memoryKv();
  const database = new Database(kv);
  const four = ["a", "b", "c", "d"];
  await leave(database, [
    ...four.map((name) => [name, 60] as const),
    ["eve", 1],
  ]);
  const taken = new Map<string, number>();
  const poller = pollerOf(database, ({ run: { limitKey } }) => {
    const { name } = limitKey!;
    taken.set(name, (taken.get(name) ?? 0) + 1);
    return Promise.resolve({ done: new Promise(() => {}) });
  });
  await poller.poll();
  assert.equal(taken.get("eve"), 1);
  assert.equal(taken.get("a"), 50);
  const all = four.reduce((sum, name) => sum + taken.get(name)!, 0);
  assert(all < 180, `${all} of 200`);
  poller.end();
  await database.idle();
});

Deno.test("look() takes a caller's other work once some has ended, and none at the end of the server", async () => {
  using time = new FakeTime();
  using kv = memoryKv();
  const database = new Database(kv);
  await leave(database, [["ada", 61]]);
  const done = Promise.withResolvers<void>();
  let taken = 0;
  const poller = pollerOf(database, () => {
    taken++;
    return Promise.resolve({ done: done.promise });
  });
  await poller.poll();
  assert.equal(taken, 50);
  done.resolve();
  time.tick(60);
  // The first looks find that the others may have died: these do not wait.
  for (let n = 0; n < 3; n++) await poller.poll();
  assert.equal(taken, 61);
  await leave(database, [["bob", 1]]);
  poller.end();
  await poller.poll();
  poller.notice();
  await poller.settled();
  assert.equal(taken, 61);
  await database.idle();
});

Deno.test("look() keeps no place for work that does not go on", async () => {
  using kv = memoryKv();
  const database = new Database(kv);
  await leave(database, [["ada", 60]]);
  let taken = 0;
  const poller = pollerOf(database, () => {
    taken++;
    return Promise.resolve(undefined);
  });
  await poller.poll();
  assert.equal(taken, 60);
  await database.idle();
});

Deno.test("look() leaves what is due to others once it has two hundred", async () => {
  using kv = memoryKv();
  const database = new Database(kv);
  const people = Array.from({ length: 250 }, (_, n) => [`p${n}`, 1] as const);
  await leave(database, people);
  let taken = 0;
  const poller = pollerOf(database, () => {
    taken++;
    return Promise.resolve({ done: new Promise(() => {}) });
  });
  await poller.poll();
  assert.equal(taken, 200);
  assert((await wakeStore(database).due(50)).length > 0);
  poller.end();
  await database.idle();
});

Deno.test("look() takes no more work at a time than has room in memory", async () => {
  using time = new FakeTime();
  using kv = memoryKv();
  const database = new Database(kv);
  const people = Array.from({ length: 20 }, (_, n) => [`p${n}`, 1] as const);
  await leave(database, people, { characters: 4 * 1024 * 1024 });
  const ends: PromiseWithResolvers<void>[] = [];
  const poller = pollerOf(database, () => {
    const end = Promise.withResolvers<void>();
    ends.push(end);
    return Promise.resolve({ done: end.promise });
  });
  for (const taken of [8, 16, 20]) {
    await poller.poll();
    assert.equal(ends.length, taken);
    for (const end of ends) end.resolve();
    time.tick(10);
  }
  poller.end();
  await database.idle();
});

Deno.test("look() reads how long the results of dead work are, and still counts its deaths once it has room", async () => {
  using time = new FakeTime();
  using steady = new SteadyTime();
  using kv = memoryKv();
  const database = new Database(kv);
  const steps = stepStore(database);
  const tasks = taskStore(database);
  const text = "x".repeat(3_000_000);
  for (let n = 0; n < 12; n++) {
    const name = `p${n}`;
    const caller = { subject: name, scopes: "all", binding: name } as const;
    const work = { tool: "work", scopes: [], keep: 60, address: "" };
    const run = { ...work, caller };
    const { claim } = await tasks.createDurable(name, run, BEGINNING, name);
    const step = {
      id: "step:a",
      number: 1,
      version: 1,
      isAlone: true,
    } as const;
    await steps.save(claim, { ...step, state: "kept", startedAt: 0, text });
  }
  const deaths: number[] = [];
  const end = Promise.withResolvers<void>();
  const poller = pollerOf(database, ({ run }) => {
    deaths.push(run.deaths);
    return Promise.resolve({ done: end.promise });
  });
  time.tick(30);
  await poller.poll();
  await database.get(["any"]);
  steady.tick(11);
  await poller.poll();
  assert.equal(deaths.length, 11);
  end.resolve();
  time.tick(10);
  await poller.poll();
  assert.deepEqual(deaths, Array(12).fill(1));
  poller.end();
  await database.idle();
});

Deno.test("look() drops the wake of work that has ended", async () => {
  using kv = memoryKv();
  const database = new Database(kv);
  await leave(database, [["ada", 1]]);
  await taskStore(database).end("ada-0", { status: "cancelled" });
  assert.equal((await wakeStore(database).due(9)).length, 1);
  await pollerOf(database, () => Promise.resolve(undefined)).poll();
  assert.deepEqual(await wakeStore(database).due(9), []);
  await database.idle();
});

Deno.test("notice() looks with a request, once a second", async () => {
  using steady = new SteadyTime();
  using kv = memoryKv();
  const database = new Database(kv);
  let taken = 0;
  const poller = pollerOf(database, () => {
    taken++;
    return Promise.resolve(undefined);
  });
  const notice = async (name: string) => {
    await leave(database, [[name, 1]]);
    poller.notice();
    await poller.settled();
    return taken;
  };
  assert.equal(await notice("ada"), 1);
  assert.equal(await notice("bob"), 1);
  steady.tick(1);
  assert.equal(await notice("eve"), 3);
  poller.end();
  await database.idle();
});

Deno.test("poll() gives up a run that it cannot take over, which is no death of a process", async () => {
  using time = new FakeTime();
  using kv = memoryKv();
  const database = new Database(kv);
  await leave(database, [["ada", 1]]);
  const deaths: number[] = [];
  const poller = pollerOf(database, ({ run }) => {
    deaths.push(run.deaths);
    return Promise.reject(new Error("no provider"));
  });
  for (let n = 0; n < 3; n++) {
    await poller.poll();
    time.tick(30);
  }
  assert.deepEqual(deaths, [0, 0, 0]);
});
