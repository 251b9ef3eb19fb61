import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { LEASE_SECONDS } from "../../../src/core/kv/leases.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { settled, until } from "../../kit/wait.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { FakeTime, SteadyTime } from "../../kit/fake_time.ts";
import { overtaken } from "../../kit/overtaken_kv.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";

const LONG = "x".repeat(100_000);

async function keysOf(kv: Deno.Kv): Promise<string[]> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  return [...new Set(entries.map(({ key }) => String(key[0])))].sort();
}

function question(message: string) {
  return { method: "elicitation/create", params: { message } };
}

/** Gives a database's tasks, one of which is someone's. */
async function tasksOf(kv: Deno.Kv) {
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "someone" });
  return tasks;
}

test.inMemory("ask() has room for many long questions at once", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  const { signal } = new AbortController();
  const keys = Array.from({ length: 10 }, (_, i) => `question-${i}`);
  const message = "?".repeat(9_000);
  const asked = keys.map((key) =>
    tasks.ask("t", key, question(message), { signal })
  );
  const open = async () => (await tasks.find("t", "someone"))?.inputRequests;
  await until(async () => Object.keys(await open() ?? {}).length === 10);
  assert.deepEqual((await open())?.["question-7"], question(message));
  await tasks.answer("t", Object.fromEntries(keys.map((k) => [k, { k }])));
  assert.deepEqual(await Promise.all(asked), keys.map((k) => ({ k })));
});

test.onDatabases("ask() opens more long questions than the record has room for once others have their answers", async ({ kv, other }) => {
  const tasks = await tasksOf(kv);
  const { signal } = new AbortController();
  const keys = Array.from({ length: 60 }, (_, i) => `question-${i}`);
  const asked = Promise.all(
    keys.map((key) =>
      tasks.ask("t", key, question("问".repeat(900)), { signal })
    ),
  );
  const reader = taskStore(new Database(other));
  let isOver = false;
  asked.finally(() => isOver = true).catch(() => {});
  const count = async () =>
    Object.keys((await reader.find("t", "someone"))?.inputRequests ?? {})
      .length;
  // All that have room are open.
  for (let before = -1, same = 0; same < 50 && !isOver;) {
    const now = await count();
    same = now > 0 && now === before ? same + 1 : 0;
    before = now;
  }
  let answered = 0;
  while (!isOver) {
    const task = await reader.find("t", "someone");
    const open = Object.keys(task?.inputRequests ?? {});
    assert(open.length < 30, `${open.length} are open`);
    answered += open.length;
    await reader.answer("t", Object.fromEntries(open.map((k) => [k, { k }])));
  }
  assert.deepEqual(await asked, keys.map((k) => ({ k })));
  assert.equal(answered, keys.length);
});

test.inMemory("renewLease() keeps a long question for as long as its task runs", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = await tasksOf(kv);
  const stop = new AbortController();
  const message = "?".repeat(90_000);
  const asked = tasks.ask("t", "q", question(message), { signal: stop.signal });
  const open = async () => (await tasks.find("t", "someone"))?.inputRequests;
  await until(async () => await open() !== undefined);
  for (let day = 0; day < 4; day++) {
    time.tick(13 * 3600);
    assert(await tasks.renewLease("t"));
  }
  assert.deepEqual(await open(), { q: question(message) });
  await tasks.answer("t", { q: { n: 1 } });
  assert.deepEqual(await asked, { n: 1 });
  assert.deepEqual(await Array.fromAsync(kv.list({ prefix: ["text"] })), []);
});

test.inMemory("ask() asks once, although it hears of the answer before it hears that it asked", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  let isLost = false;
  const losing = kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      if (isLost) return await commit();
      isLost = true;
      await commit();
      await tasks.answer("t", { key: { n: 1 } });
      throw new Error("connection reset");
    }),
  });
  const asking = taskStore(new Database(losing));
  const answer = await asking.ask("t", "key", question("?"), { signal: never });
  assert.deepEqual(answer, { n: 1 });
  const task = await tasks.find("t", "someone");
  assert.deepEqual([task?.status, task?.inputRequests], ["working", undefined]);
});

test.inMemory("ask() leaves nothing of a long answer behind", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  const { signal } = new AbortController();
  const asked = tasks.ask("t", "key", question("?"), { signal });
  await until(async () =>
    (await tasks.find("t", "someone"))?.status === "input_required"
  );
  await tasks.answer("t", { key: { text: LONG } });
  assert.deepEqual(await asked, { text: LONG });
  assert.deepEqual(await keysOf(kv), ["task", "task-lease", "task-of"]);
});

test.inMemory("ask() leaves nothing of a question of a task that has ended, and waits for the end of its run", async ({ kv }) => {
  const watched = Promise.withResolvers<Deno.KvKeyPart>();
  const watching = kvWith(kv, {
    watch(...[[key], options]: Parameters<Deno.Kv["watch"]>) {
      watched.resolve(key[0]);
      return kv.watch([key], options);
    },
  } as Partial<Deno.Kv>);
  const tasks = taskStore(new Database(watching));
  const stop = new AbortController();
  const asked = tasks.ask("t", "q", question(LONG), { signal: stop.signal });
  const ended = assert.rejects(asked, /stopped/);
  assert.equal(await watched.promise, "task-answer");
  assert.deepEqual(await keysOf(kv), []);
  stop.abort(new Error("stopped"));
  await ended;
});

test.inMemory("ask() that waits for room leaves nothing of its question once its task is gone", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  const { key, value } = await kv.get<Record<string, unknown>>(["task", "t"]);
  const full = { text: "x".repeat(24_000) };
  await kv.set(key, { ...value, questions: { full } });
  const stop = new AbortController();
  const asked = tasks.ask("t", "q", question(LONG), { signal: stop.signal });
  const ended = assert.rejects(asked, /stopped/);
  await until(async () => (await keysOf(kv)).includes("text"));
  await settled();
  await tasks.discard("t", { list: "someone" });
  await until(async () => (await keysOf(kv)).length === 0);
  stop.abort(new Error("stopped"));
  await ended;
});

test.inMemory("withdrawQuestion() leaves nothing of a question, and others open", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  const stop = new AbortController();
  const { signal } = stop;
  const asked = Promise.allSettled([
    tasks.ask("t", "long", question(LONG), { signal }),
    tasks.ask("t", "other", question("?"), { signal }),
  ]);
  const open = async () => {
    const task = await tasks.find("t", "someone");
    return [task?.status, Object.keys(task?.inputRequests ?? {}).sort()];
  };
  await until(async () => (await open())[1]?.length === 2);
  await tasks.withdrawQuestion("t", "none");
  await tasks.withdrawQuestion("t", "long");
  assert.deepEqual(await open(), ["input_required", ["other"]]);
  assert.deepEqual(await keysOf(kv), ["task", "task-lease", "task-of"]);
  await tasks.withdrawQuestion("t", "other");
  assert.deepEqual(await open(), ["working", []]);
  stop.abort();
  await asked;
});

test.inMemory("find() tells of a sleep until its end", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = await tasksOf(kv);
  const { key, value } = await kv.get<Record<string, unknown>>(["task", "t"]);
  const sleepsUntil = Math.floor(Date.now() / 1000) + 2;
  await kv.set(key, { ...value, sleepsUntil });
  time.tick(1);
  assert.equal((await tasks.find("t", "someone"))?.sleepsUntil, sleepsUntil);
  time.tick(1);
  assert.equal((await tasks.find("t", "someone"))?.sleepsUntil, undefined);
});

test.inMemory("end() of a task that has ended leaves nothing of its outcome behind", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  assert(await tasks.end("t", { status: "cancelled" }));
  const outcome = { text: LONG };
  assert.equal(await tasks.end("t", { status: "completed", outcome }), false);
  assert.deepEqual(await keysOf(kv), ["task", "task-of"]);
});

test.inMemory("setMessages() cuts a message that the record has no room for, and removes it for none", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  await tasks.setMessages("t", { statusMessage: LONG });
  const { statusMessage } = (await tasks.find("t", "someone"))!;
  assert.equal(statusMessage?.length, 1000);
  await tasks.setMessages("t", { statusMessage: "" });
  assert.equal((await tasks.find("t", "someone"))!.statusMessage, undefined);
});

test.inMemory("renewLease() tells that a task has ended, and takes no lease then", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  assert.equal(await tasks.renewLease("t"), true);
  await tasks.end("t", { status: "cancelled" });
  assert.equal(await tasks.renewLease("t"), false);
  assert.deepEqual(await keysOf(kv), ["task", "task-of"]);
});

const never = new AbortController().signal;

test.onDatabases("discard() leaves nothing of a task, and others as they are", async ({ kv, other }) => {
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "someone" }, { list: "a list" });
  const before = await keysOf(kv);
  await tasks.create("u", { binding: "someone" }, { list: "a list" });
  await taskStore(new Database(other)).discard("t", { list: "a list" });
  assert.equal(await tasks.find("t", "someone"), undefined);
  assert.equal((await tasks.find("u", "someone"))?.status, "working");
  await tasks.discard("u", { list: "a list" });
  assert.equal(await tasks.hasMany("a list", 1), false);
  const left = await keysOf(kv);
  assert.deepEqual(before.filter((key) => left.includes(key)), []);
});

test.onDatabases("end() lets one of fifty ends through", async ({ kv, other }) => {
  await taskStore(new Database(kv)).create("t", { binding: "someone" });
  const ended = await fiftyAtOnce(
    kv,
    other,
    taskStore,
    (tasks, n) => tasks.end("t", { status: "completed", outcome: { n } }),
  );
  assert.equal(ended.filter(Boolean).length, 1);
  const task = await taskStore(new Database(other)).find("t", "someone");
  assert.deepEqual(task?.outcome, { n: ended.indexOf(true) });
});

test.onDatabases("answer() lets one of fifty answers through", async ({ kv, other }) => {
  const tasks = await tasksOf(kv);
  const asked = tasks.ask("t", "q", question("?"), { signal: never });
  const isOpen = async () =>
    (await tasks.find("t", "someone"))?.status === "input_required";
  await until(isOpen);
  await fiftyAtOnce(
    kv,
    other,
    taskStore,
    (tasks, n) => tasks.answer("t", { q: { n } }),
  );
  assert.equal(typeof (await asked).n, "number");
  assert.deepEqual(await keysOf(kv), ["task", "task-lease", "task-of"]);
});

test.onDatabases("find() knows a caller's own tasks only", async ({ kv, other }) => {
  await taskStore(new Database(kv)).create("t", { binding: "someone" });
  assert.ok(await taskStore(new Database(other)).find("t", "someone"));
  assert.equal(
    await taskStore(new Database(other)).find("t", "eve"),
    undefined,
  );
  assert.equal(
    await taskStore(new Database(other)).find("u", "someone"),
    undefined,
  );
});

/** Tasks as one sees them who needs no second look. */
function looking(kv: Deno.Kv) {
  return taskStore(new Database(kv), { lapseSeconds: 0 });
}

test.onDatabases("find() fails a task whose lease no one renews", async ({ kv, other }) => {
  using time = new FakeTime();
  const tasks = taskStore(new Database(kv));
  const statusOf = async () =>
    (await looking(other).find("t", "someone"))?.status;
  await tasks.create("t", { binding: "someone" });
  time.tick(LEASE_SECONDS - 2);
  assert.equal(await tasks.renewLease("t"), true);
  time.tick(LEASE_SECONDS - 2);
  assert.equal(await statusOf(), "working");
  time.tick(2);
  assert.equal(await statusOf(), "failed");
  assert.equal(await tasks.renewLease("t"), false);
});

test.onDatabases("ended() hears of an end on another handle", async ({ kv, other }) => {
  await taskStore(new Database(kv)).create("t", { binding: "someone" });
  const ended = taskStore(new Database(kv)).ended("t", never);
  await taskStore(new Database(other)).end("t", { status: "cancelled" });
  await ended;
});

test.onDatabases("renewLease() leaves no lease of a task that ends at the same time", async ({ kv, other }) => {
  const tasks = taskStore(new Database(kv));
  await Promise.all(Array.from({ length: 50 }, async (_, n) => {
    await tasks.create(`${n}`, { binding: "someone" });
    await Promise.all([
      tasks.renewLease(`${n}`),
      taskStore(new Database(other)).end(`${n}`, { status: "cancelled" }),
    ]);
  }));
  assert.deepEqual(await keysOf(kv), ["task", "task-of"]);
});

test.inMemory("end() keeps a long outcome, whole", async ({ kv }) => {
  const tasks = await tasksOf(kv);
  const outcome = { text: LONG };
  assert(await tasks.end("t", { status: "completed", outcome }));
  assert.deepEqual((await tasks.find("t", "someone"))?.outcome, outcome);
});

test.inMemory("find() fails no task that completes at the same time", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = await tasksOf(kv);
  time.tick(LEASE_SECONDS);
  const outcome = { text: "done" };
  const slow = overtaken(
    kv,
    () => tasks.end("t", { status: "completed", outcome }),
  );
  const found = await looking(slow).find("t", "someone");
  assert.deepEqual([found?.status, found?.outcome], ["completed", outcome]);
});

test.inMemory("find() fails no task whose process says at the same time that it works", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = await tasksOf(kv);
  time.tick(LEASE_SECONDS);
  const slow = overtaken(kv, () => tasks.renewLease("t"));
  const found = await looking(slow).find("t", "someone");
  assert.equal(found?.status, "working");
});

/** A task whose lease has expired, and what an hour's look at it says. */
async function withLapsed(
  run: (lapsed: {
    kv: Deno.Kv;
    stall: StalledKv;
    database: Database;
    statusAfter(seconds: number): Promise<string | undefined>;
  }) => Promise<void>,
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  using time = new FakeTime();
  using steady = new SteadyTime();
  const stall = new StalledKv(kv);
  const database = new Database(stall.kv, { deadlineMilliseconds: 50 });
  const tasks = taskStore(database);
  await tasks.create("t", { binding: "someone" });
  time.tick(LEASE_SECONDS);
  await run({
    kv,
    stall,
    database,
    async statusAfter(seconds) {
      steady.tick(seconds);
      return (await tasks.find("t", "someone"))?.status;
    },
  });
  await database.idle();
}

Deno.test("find() fails a task once its lease was not renewed for two heartbeats", () =>
  withLapsed(async ({ statusAfter }) => {
    assert.equal(await statusAfter(0), "working");
    assert.equal(await statusAfter(9), "working");
    assert.equal(await statusAfter(1), "failed");
  }));

Deno.test("find() fails no task whose process says that it works, though its clock is behind", () =>
  withLapsed(async ({ kv, statusAfter }) => {
    const behind = new Database(kv, {
      clock: () => Date.now() - LEASE_SECONDS * 2 * 1000,
    });
    for (let heartbeat = 0; heartbeat < 10; heartbeat++) {
      assert.equal(await statusAfter(5), "working");
      await taskStore(behind).renewLease("t");
    }
  }));

Deno.test("find() fails no task while the database was away from who looks", () =>
  withLapsed(async ({ stall, database, statusAfter }) => {
    assert.equal(await statusAfter(0), "working");
    stall.begin();
    await assert.rejects(database.get(["any"]));
    await stall.end();
    assert.equal(await statusAfter(10), "working");
    assert.equal(await statusAfter(9), "working");
    assert.equal(await statusAfter(1), "failed");
  }));

/** Watches over the tasks of a database, for eight seconds each. */
async function shortLives(
  kv: Deno.Kv,
  time: FakeTime,
  find: (tasks: ReturnType<typeof taskStore>) => Promise<unknown>,
  lives: number,
): Promise<unknown> {
  let found: unknown;
  for (let life = 0; life < lives; life++) {
    const database = new Database(kv);
    const tasks = taskStore(database);
    for (let second = 0; second < 8; second++) {
      time.tick(1);
      found = await find(tasks);
      await settled();
    }
    await database.idle();
  }
  return found;
}

Deno.test("find() fails a task although no process that looks lives for two heartbeats", async () => {
  using time = new FakeTime();
  using kv = memoryKv();
  await taskStore(new Database(kv)).create("t", { binding: "someone" });
  time.tick(LEASE_SECONDS);
  const status = (tasks: ReturnType<typeof taskStore>) =>
    tasks.find("t", "someone").then((task) => task?.status);
  assert.equal(await shortLives(kv, time, status, 1), "working");
  assert.equal(await shortLives(kv, time, status, 1), "failed");
});

Deno.test("find() forgets for how long others have watched a lease, once it is renewed", async () => {
  using time = new FakeTime();
  using kv = memoryKv();
  const holder = taskStore(new Database(kv));
  await holder.create("t", { binding: "someone" });
  const status = (tasks: ReturnType<typeof taskStore>) =>
    tasks.find("t", "someone").then((task) => task?.status);
  for (let n = 0; n < 3; n++) {
    time.tick(LEASE_SECONDS);
    assert.equal(await shortLives(kv, time, status, 1), "working");
    await holder.renewLease("t");
  }
});

test.inMemory("use() leaves a task to the grant that was faster", async ({ kv }) => {
  const binding = "someone";
  const database = new Database(kv);
  const tasks = taskStore(database);
  await tasks.create("t", { binding, grantId: "first" });
  const slow = overtaken(
    kv,
    () => tasks.use("t", { binding, grantId: "faster" }),
  );
  await taskStore(new Database(slow)).use("t", { binding, grantId: "slow" });
  for (
    const [grantId, status] of [["slow", "working"], ["faster", "cancelled"]]
  ) {
    const endTasks = await tasks.cancelAllOf(binding, new Set([grantId]));
    endTasks();
    await database.idle();
    assert.equal((await tasks.find("t", binding))?.status, status);
  }
});
