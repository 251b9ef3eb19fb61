import { setWake } from "../../../src/core/store/waiting_work.ts";
import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { markErased } from "../../../src/core/store/erased.ts";
import { type Step, stepStore } from "../../../src/features/work/steps.ts";
import { HttpError, StorageError } from "../../../src/core/errors.ts";
import {
  type Claim,
  LEASE_WATCH_SECONDS,
  MAX_BEGINNING_CHARACTERS,
  type RunBeginning,
  type Wake,
  wakeStore,
} from "../../../src/features/work/run_record.ts";
import { LEASE_SECONDS } from "../../../src/core/kv/leases.ts";
import {
  taskKey,
  taskLeaseKey,
  tasksOfKey,
} from "../../../src/core/kv/keys.ts";
import {
  type ClaimAttempt,
  taskRunStore,
} from "../../../src/features/work/task_runs.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import { countedOn, fiftyAtOnce, test } from "../../kit/databases.ts";
import { FakeTime, SteadyTime } from "../../kit/fake_time.ts";
import { overtaken } from "../../kit/overtaken_kv.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { settled, until } from "../../kit/wait.ts";

const BINDING = "ada";
const RUN = {
  tool: "report",
  scopes: [],
  keep: 60,
  address: "",
  caller: { subject: BINDING, scopes: "all", binding: BINDING },
} as const;
const BEGINNING = {
  input: { n: 1 },
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
};
/** A beginning and a text that have no room in a record. */
const LONG_TEXT = JSON.stringify("x".repeat(100_000));
const LONG_BEGINNING = { ...BEGINNING, input: { text: LONG_TEXT } };
const QUESTION = { method: "elicitation/create", params: {} };
const none = () => Promise.resolve({ kept: 0, characters: 0 });

async function beginOn(
  kv: Deno.Kv,
  taskId = "t",
  beginning: RunBeginning = BEGINNING,
): Promise<Claim> {
  const tasks = taskStore(new Database(kv));
  const begun = await tasks.createDurable(taskId, RUN, beginning, BINDING);
  return begun.claim;
}

function runsOn(kv: Deno.Kv) {
  return taskRunStore(new Database(kv), { lapseSeconds: 0 });
}

function stepOf(id: string, more: Partial<Step> = {}): Step {
  return {
    id,
    number: 1,
    version: 1,
    isAlone: true,
    state: "kept",
    startedAt: 0,
    ...more,
  };
}

async function wakesOf(kv: Deno.Kv): Promise<Wake[]> {
  return await wakeStore(new Database(kv)).due(10);
}

function claimOf(taking: ClaimAttempt): Claim {
  assert("claim" in taking, JSON.stringify(taking));
  return taking.claim;
}

async function keysOf(kv: Deno.Kv): Promise<string[]> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  return [...new Set(entries.map(({ key }) => String(key[0])))].sort();
}

test.onDatabases("take() gives a parked run to one of fifty", async ({ kv, other }) => {
  const claim = await beginOn(kv);
  assert.equal(await runsOn(kv).park(claim, 0, []), "parked");
  const [wake] = await wakesOf(kv);
  const taken = await fiftyAtOnce(
    kv,
    other,
    taskRunStore,
    (runs) => runs.take(wake, none),
  );
  assert.equal(taken.filter((one) => "claim" in one).length, 1);
  assert.deepEqual(await wakesOf(other), []);
});

test.onDatabases("take() gives the run of a process that has died to one of fifty, which alone keeps steps", async ({ kv, other }) => {
  using time = new FakeTime();
  const dead = await beginOn(kv);
  assert.deepEqual(await wakesOf(kv), []);
  time.tick(30);
  const [wake] = await wakesOf(kv);
  const taken = await fiftyAtOnce(
    kv,
    other,
    (database) => taskRunStore(database, { lapseSeconds: 0 }),
    (runs) => runs.take(wake, none),
  );
  const [held, ...others] = taken.filter((one) => "claim" in one);
  assert.equal(others.length, 0);
  const steps = stepStore(new Database(other));
  assert.equal(await steps.save(dead, stepOf("step:a")), false);
  assert.equal(await runsOn(kv).renew(dead), false);
  assert.equal(await runsOn(kv).park(dead, 0, []), "lost");
  assert.equal(claimOf(held).run.deaths, 1);
  assert(await steps.save(claimOf(held), stepOf("step:a")));
  assert.equal((await steps.list("t")).length, 1);
});

test.inMemory("take() leaves a run alone whose lease is renewed, and its wake goes", async ({ kv }) => {
  using time = new FakeTime();
  const claim = await beginOn(kv);
  time.tick(20);
  const [wake] = await wakesOf(kv);
  assert.deepEqual(await runsOn(kv).take(wake, none), { because: "watched" });
  assert(await runsOn(kv).renew(claim));
  assert.deepEqual(await wakesOf(kv), []);
  assert.deepEqual(await runsOn(kv).take(wake, none), { because: "held" });
});

test.onDatabases("a parked run tells its client of its rest, until it is taken", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = taskStore(new Database(kv));
  const claim = await beginOn(kv);
  const { updatedMilliseconds: begun } = (await tasks.find("t", BINDING))!;
  const sleepsUntil = Math.floor(Date.now() / 1000) + 3600;
  const waitsFor = "the payment";
  await runsOn(kv).park(claim, sleepsUntil, [], { waitsFor });
  const asleep = (await tasks.find("t", BINDING))!;
  assert.deepEqual([asleep.sleepsUntil, asleep.waitsFor], [
    sleepsUntil,
    waitsFor,
  ]);
  assert(asleep.updatedMilliseconds > begun);
  time.tick(3600);
  const [wake] = await wakesOf(kv);
  claimOf(await runsOn(kv).take(wake, none));
  const awake = (await tasks.find("t", BINDING))!;
  assert.deepEqual([awake.sleepsUntil, awake.waitsFor], [undefined, undefined]);
  assert(awake.updatedMilliseconds > asleep.updatedMilliseconds);
});

test.onDatabases("take() loses a run whose lease its process renews at that moment", async ({ kv, other }) => {
  using time = new FakeTime();
  const claim = await beginOn(kv);
  time.tick(30);
  const [wake] = await wakesOf(kv);
  const slow = overtaken(kv, () => runsOn(other).renew(claim));
  assert.deepEqual(await runsOn(slow).take(wake, none), { because: "lost" });
  const steps = stepStore(new Database(kv));
  assert(await steps.save(claim, stepOf("step:a", { text: '"a"' })));
});

test.inMemory("take() tells that the work has ended meanwhile", async ({ kv }) => {
  const claim = await beginOn(kv);
  await runsOn(kv).park(claim, 0, []);
  const [wake] = await wakesOf(kv);
  const database = new Database(kv);
  await taskStore(database).end("t", { status: "cancelled" });
  await database.idle();
  assert.deepEqual(await runsOn(kv).take(wake, none), { because: "ended" });
});

test.onDatabases("take() does no work whose call was answered with 503, as no one has its ID", async ({ kv, other }) => {
  using time = new FakeTime();
  const stalled = new StalledKv(kv);
  stalled.begin();
  {
    using _timers = new HastyTimers();
    await assert.rejects(beginOn(stalled.kv), StorageError);
  }
  await stalled.end();
  assert((await keysOf(other)).includes("task-run"));
  await until(async () => (await keysOf(other)).includes("given-up"));
  time.tick(30);
  const [wake] = await wakesOf(other);
  assert.deepEqual(await runsOn(other).take(wake, none), { because: "ended" });
  assert.deepEqual(await keysOf(other), ["fence", "given-up"]);
});

test.inMemory("take() does work of which only a message was given up", async ({ kv }) => {
  using time = new FakeTime();
  await beginOn(kv);
  time.tick(1);
  const stalled = new StalledKv(kv);
  stalled.beginAtCommit();
  const tasks = taskStore(new Database(stalled.kv));
  let isOver = false;
  const writing = tasks.setMessages("t", { statusMessage: "1 of 2" });
  const refused = assert.rejects(writing, StorageError)
    .finally(() => isOver = true);
  await until(() => stalled.isStalled);
  await until(() => {
    time.tick(1);
    return isOver;
  });
  await refused;
  await stalled.end();
  await until(async () => {
    // The next try comes only once time has passed.
    time.tick(0.5);
    return (await keysOf(kv)).includes("given-up");
  });
  time.tick(30);
  const [wake] = await wakesOf(kv);
  claimOf(await runsOn(kv).take(wake, none));
});

test.inMemory("take() leaves the task as it was, unless it told of a wait", async ({ kv }) => {
  using time = new FakeTime();
  await beginOn(kv);
  time.tick(30);
  const tasks = taskStore(new Database(kv));
  const before = await tasks.find("t", BINDING);
  const [wake] = await wakesOf(kv);
  claimOf(await runsOn(kv).take(wake, none));
  assert.deepEqual(await tasks.find("t", BINDING), before);
});

test.inMemory("take() overwrites nothing that its task is told at that moment, and reads no steps of a parked run", async ({ kv }) => {
  const claim = await beginOn(kv);
  await runsOn(kv).park(claim, 1.5, [], { waitsFor: "noon" });
  const [wake] = await wakesOf(kv);
  const tasks = taskStore(new Database(kv));
  const unread = () => assert.fail("the steps were read");
  const slow = overtaken(
    kv,
    () => tasks.setMessages("t", { statusMessage: "1 of 2" }),
  );
  const taken = await runsOn(slow).take(wake, unread);
  assert.deepEqual(taken, { because: "lost" });
  claimOf(await runsOn(kv).take(wake, unread));
  assert.equal((await tasks.find("t", BINDING))?.statusMessage, "1 of 2");
});

test.inMemory("take() and renew() hold the run's lease for half a minute", async ({ kv }) => {
  using time = new FakeTime();
  await runsOn(kv).park(await beginOn(kv), 0, []);
  const [wake] = await wakesOf(kv);
  const claim = claimOf(await runsOn(kv).take(wake, none));
  for (let n = 0; n < 2; n++) {
    time.tick(LEASE_SECONDS - 1);
    const [due] = await wakesOf(kv);
    const because = "watched";
    assert.deepEqual(await runsOn(kv).take(due, none), { because });
    assert(await runsOn(kv).renew(claim));
  }
  time.tick(LEASE_SECONDS);
  const [due] = await wakesOf(kv);
  claimOf(await runsOn(kv).take(due, none));
});

test.inMemory("park() tells the client a whole second at which it goes on, never earlier", async ({ kv }) => {
  const claim = await beginOn(kv);
  const soon = Math.floor(Date.now() / 1000) + 100;
  await runsOn(kv).park(claim, soon + 0.25, []);
  const task = await taskStore(new Database(kv)).find("t", BINDING);
  assert.equal(task?.sleepsUntil, soon + 1);
});

test.onDatabases("create() leaves nothing of a task whose call was answered with 503", async ({ kv, other }) => {
  const stalled = new StalledKv(kv);
  stalled.begin();
  const database = new Database(stalled.kv);
  {
    using _timers = new HastyTimers();
    const creating = taskStore(database)
      .create("t", { binding: BINDING }, { repeat: "again" });
    await assert.rejects(creating, StorageError);
  }
  await stalled.end();
  await until(async () => (await keysOf(other)).includes("given-up"));
  await until(async () => !(await keysOf(other)).includes("task"));
  assert.deepEqual(await keysOf(other), ["fence", "given-up"]);
  await database.idle();
});

test.inMemory("renew() leaves a run one wake, at its next look", async ({ kv }) => {
  using time = new FakeTime();
  const claim = await beginOn(kv);
  for (let n = 0; n < 3; n++) {
    time.tick(5);
    assert(await runsOn(kv).renew(claim));
  }
  const wakes = await Array.fromAsync(kv.list({ prefix: ["wake"] }));
  assert.equal(wakes.length, 1);
  time.tick(LEASE_WATCH_SECONDS);
  assert.equal((await wakesOf(kv)).length, 1);
});

test.inMemory("park() has lost a run whose task is gone", async ({ kv }) => {
  const claim = await beginOn(kv);
  await kv.delete(taskKey("t"));
  assert.equal(await runsOn(kv).park(claim, 0, []), "lost");
});

test.inMemory("take() takes no run while the database was away from who looks", async ({ kv }) => {
  using time = new FakeTime();
  using steady = new SteadyTime();
  await beginOn(kv);
  time.tick(20);
  const [wake] = await wakesOf(kv);
  const runs = taskRunStore(new Database(kv));
  const take = () => runs.take(wake, none);
  assert.deepEqual(await take(), { because: "watched" });
  time.tick(10);
  steady.tick(9);
  assert.deepEqual(await take(), { because: "watched" });
  steady.tick(1);
  claimOf(await take());
});

test.inMemory("take() watches a run anew that was taken before, though no lease is left again", async ({ kv }) => {
  using time = new FakeTime();
  await beginOn(kv);
  const runs = taskRunStore(new Database(kv));
  for (let deaths = 1; deaths <= 2; deaths++) {
    await kv.delete(taskLeaseKey("t"));
    time.tick(30);
    const [wake] = await wakesOf(kv);
    assert.deepEqual(await runs.take(wake, none), { because: "watched" });
    time.tick(10);
    assert.equal(claimOf(await runs.take(wake, none)).run.deaths, deaths);
  }
});

test.onDatabases("park() of a run that another process takes at that moment leaves it there", async ({ kv, other }) => {
  using time = new FakeTime();
  const claim = await beginOn(kv);
  time.tick(30);
  const [wake] = await wakesOf(kv);
  let taken: Claim | undefined;
  const slow = overtaken(kv, async () => {
    taken = claimOf(await runsOn(other).take(wake, none));
  });
  assert.equal(await runsOn(slow).park(claim, undefined, []), "lost");
  assert(await stepStore(new Database(kv)).save(taken!, stepOf("step:a")));
});

test.inMemory("take() by processes that live for eight seconds each takes a run whose process has died, but none that is renewed", async ({ kv }) => {
  using time = new FakeTime();
  const claim = await beginOn(kv);
  time.tick(LEASE_WATCH_SECONDS);
  const [wake] = await wakesOf(kv);
  /** Looks each second of a process's life. */
  const live = async (renewedAfter?: number) => {
    const runs = taskRunStore(new Database(kv));
    for (let second = 0; second < 8; second++) {
      const taken = await runs.take(wake, none);
      if ("claim" in taken) return taken;
      if (second === renewedAfter) {
        // By a process whose clock is behind.
        const lease = { expiresAt: Date.now() / 1000 - 300 };
        await kv.set(taskLeaseKey("t"), lease);
      }
      time.tick(1);
    }
  };
  time.tick(10);
  assert.equal(await live(), undefined);
  assert.equal(await live(2), undefined);
  assert.equal(await live(), undefined);
  const taken = await live();
  assert(taken);
  assert.equal(await runsOn(kv).renew(claim), false);
});

test.inMemory("take() counts the processes that died without a step", async ({ kv }) => {
  using time = new FakeTime();
  await beginOn(kv);
  for (const [kept, deaths] of [[0, 1], [0, 2], [3, 1], [3, 2]]) {
    time.tick(30);
    const [wake] = await wakesOf(kv);
    const measure = () => Promise.resolve({ kept, characters: 0 });
    const { run } = claimOf(await runsOn(kv).take(wake, measure));
    assert.equal(run.deaths, deaths);
  }
});

test.onDatabases("save() keeps nothing once a slow commit was overtaken by a takeover", async ({ kv, other }) => {
  using time = new FakeTime();
  const claim = await beginOn(kv);
  time.tick(30);
  const [wake] = await wakesOf(kv);
  const slow = overtaken(kv, () => runsOn(other).take(wake, none));
  const steps = stepStore(new Database(slow));
  const text = "x".repeat(100);
  assert.equal(await steps.save(claim, stepOf("step:a", { text })), false);
  assert.deepEqual(await steps.list("t"), []);
  const keys = await keysOf(other);
  const long = stepOf("step:b", { text: text.repeat(1000) });
  assert.equal(await steps.save(claim, long), false);
  assert.deepEqual(await keysOf(other), keys);
});

test.onDatabases("settle() drops the results of more steps than a commit has checks", async ({ kv }) => {
  const claim = await beginOn(kv);
  const steps = stepStore(new Database(kv));
  for (let n = 0; n < 25; n++) {
    await steps.save(claim, stepOf(`step:${n}`, { text: '"a"' }));
  }
  await steps.settle("t", claim.expiresAt);
  const texts = (await steps.list("t")).map(({ text }) => text);
  assert.deepEqual(texts, Array.from({ length: 25 }, () => undefined));
});

test.onDatabases("settle() brings back no step that is deleted at the same time", async ({ kv, other }) => {
  const claim = await beginOn(kv);
  const steps = stepStore(new Database(kv));
  await steps.save(claim, stepOf("step:a", { text: '"a"' }));
  const slow = overtaken(other, () => steps.forget("t"));
  await stepStore(new Database(slow)).settle("t", claim.expiresAt);
  assert.deepEqual(await steps.outline("t"), []);
});

test.onDatabases("drop() removes a wake, but none that is set again", async ({ kv, other }) => {
  const claim = await beginOn(kv);
  await runsOn(kv).park(claim, 0, []);
  const [wake] = await wakesOf(kv);
  const { expiresAt } = claim;
  const again = { address: "", taskId: "t", dueSeconds: 0, expiresAt };
  const database = new Database(kv);
  const slow = overtaken(
    other,
    () => database.commit((to) => setWake(to, again)),
  );
  await wakeStore(new Database(slow)).drop(wake);
  const [left, ...more] = await wakesOf(kv);
  assert.deepEqual([left.key, more], [wake.key, []]);
  await wakeStore(database).drop(left);
  assert.deepEqual(await wakesOf(kv), []);
});

test.inMemory("save() keeps a long result whole, in one commit if it is short", async ({ kv }) => {
  const claim = await beginOn(kv);
  const { place, database } = countedOn(kv);
  const steps = stepStore(database);
  assert(await steps.save(claim, stepOf("step:a", { text: '"a"' })));
  assert.equal(place.commits, 1);
  const text = JSON.stringify("x".repeat(100_000));
  assert(await steps.save(claim, stepOf("step:b", { number: 2, text })));
  assert.deepEqual((await steps.list("t")).map(({ text }) => text), [
    '"a"',
    text,
  ]);
});

test.inMemory("park() goes on when a question has its answer by then", async ({ kv }) => {
  const claim = await beginOn(kv);
  const tasks = taskStore(new Database(kv));
  const stop = new AbortController();
  let kept: string | undefined;
  const asked = tasks.ask(
    "t",
    "who",
    QUESTION,
    {
      signal: stop.signal,
      keep: (answer) => Promise.resolve(void (kept = answer)),
    },
  );
  const slow = overtaken(kv, async () => {
    await tasks.answer("t", { who: { action: "accept" } });
  });
  while ((await tasks.find("t", BINDING))?.status !== "input_required");
  assert.equal(await runsOn(slow).park(claim, undefined, ["who"]), "answered");
  await asked;
  assert.equal(kept, '{"action":"accept"}');
});

test.onDatabases("answer() wakes the run that is parked for it", async ({ kv, other }) => {
  const claim = await beginOn(kv);
  const tasks = taskStore(new Database(kv));
  const stop = new AbortController();
  const keep = () => Promise.resolve();
  const asking = () =>
    tasks.ask("t", "who", QUESTION, { signal: stop.signal, keep })
      .catch(() => {});
  const first = asking();
  while ((await tasks.find("t", BINDING))?.status !== "input_required");
  assert.equal(await runsOn(kv).park(claim, undefined, ["who"]), "parked");
  assert.deepEqual(await wakesOf(other), []);
  stop.abort();
  await first;
  await taskStore(new Database(other)).answer("t", { who: {} });
  const [wake] = await wakesOf(kv);
  claimOf(await runsOn(other).take(wake, none));
  let kept: string | undefined;
  await tasks.ask("t", "who", QUESTION, {
    signal: new AbortController().signal,
    keep: (answer) => Promise.resolve(void (kept = answer)),
  });
  assert.equal(kept, "{}");
});

test.onDatabases("end() by a process that has lost its turn ends nothing", async ({ kv, other }) => {
  const claim = await beginOn(kv, "t", LONG_BEGINNING);
  const steps = stepStore(new Database(kv));
  await steps.save(claim, stepOf("step:a", { text: LONG_TEXT }));
  await runsOn(kv).park(claim, 0, []);
  const [wake] = await wakesOf(kv);
  const taken = claimOf(await runsOn(other).take(wake, none));
  const database = new Database(other);
  const tasks = taskStore(database);
  const outcome = { content: [] };
  const end = { status: "completed", outcome } as const;
  assert.equal(await tasks.end("t", end, claim), false);
  await database.idle();
  const task = await tasks.find("t", BINDING);
  assert.equal(task?.status, "working");
  assert.deepEqual(await runsOn(kv).beginningOf(taken), LONG_BEGINNING);
  assert.equal((await steps.list("t"))[0].text, LONG_TEXT);
  assert.equal(await tasks.end("t", end, taken), true);
  // It is repeated when its answer was lost.
  assert.equal(await tasks.end("t", end, taken), true);
  assert.equal(await tasks.end("t", end, claim), false);
  await database.idle();
  assert.deepEqual(await keysOf(kv), ["task", "task-of", "task-step"]);
});

test.inMemory("end() of durable work lets its task go after the time to keep it", async ({ kv }) => {
  using time = new FakeTime();
  const claim = await beginOn(kv);
  const database = new Database(kv);
  const tasks = taskStore(database);
  const steps = stepStore(database);
  const text = JSON.stringify("x".repeat(100_000));
  await steps.save(claim, stepOf("step:a", { text }));
  assert(await tasks.end("t", { status: "cancelled" }));
  await database.idle();
  assert.deepEqual(
    (await steps.list("t")).map(({ id, text }) => [id, text]),
    [["step:a", undefined]],
  );
  assert.equal(await tasks.hasMany(BINDING, 1), true);
  time.tick(RUN.keep);
  assert.equal(await tasks.find("t", BINDING), undefined);
  assert.equal(await tasks.hasMany(BINDING, 1), false);
  assert.deepEqual(await steps.list("t"), []);
  assert.deepEqual(await keysOf(kv), ["task", "task-of", "task-step", "wake"]);
});

test.inMemory("find() fails no durable work, however long its lease is over", async ({ kv }) => {
  using time = new FakeTime();
  await beginOn(kv);
  time.tick(3600);
  const tasks = taskStore(new Database(kv), { lapseSeconds: 0 });
  assert.equal((await tasks.find("t", BINDING))?.status, "working");
});

test.inMemory("end() of durable work is no matter of the list that counts it", async ({ kv }) => {
  const database = new Database(kv);
  const tasks = taskStore(database);
  const owner = { binding: BINDING, grantId: "later" };
  await beginOn(kv);
  const slow = new Database(overtaken(kv, () => tasks.use("t", owner)));
  assert(await taskStore(slow).end("t", { status: "cancelled" }));
  await slow.idle();
  assert.equal(await tasks.userOf("t", BINDING), "later");

  await beginOn(kv, "unlisted");
  await kv.delete(tasksOfKey(BINDING, "unlisted"));
  assert(await tasks.end("unlisted", { status: "cancelled" }));
  await database.idle();
});

test.inMemory("ask() keeps a long question of durable work for longer than a day", async ({ kv }) => {
  using time = new FakeTime();
  await beginOn(kv);
  const tasks = taskStore(new Database(kv));
  const stop = new AbortController();
  const question = { ...QUESTION, params: { message: LONG_TEXT } };
  const asked = tasks.ask("t", "who", question, {
    signal: stop.signal,
    keep: () => Promise.resolve(),
  });
  const open = async () => (await tasks.find("t", BINDING))?.inputRequests;
  while (!await open());
  time.tick(2 * 24 * 3600);
  assert.deepEqual(await open(), { who: question });
  stop.abort();
  await assert.rejects(asked);
});

test.inMemory("ask() of a later run asks nothing that is open, or that has its answer, and takes the answer once it is kept", async ({ kv }) => {
  await beginOn(kv);
  const tasks = taskStore(new Database(kv));
  const task = async () => (await tasks.find("t", BINDING))!;
  const ask = (
    keep: (answer: string) => Promise<void>,
    signal = new AbortController().signal,
  ) => tasks.ask("t", "who", QUESTION, { signal, keep });
  const stop = new AbortController();
  const first = ask(() => Promise.resolve(), stop.signal);
  while ((await task()).status !== "input_required");
  stop.abort();
  await assert.rejects(first);

  const { updatedMilliseconds } = await task();
  const full = () => Promise.reject(new Error("no room"));
  const second = assert.rejects(ask(full), /no room/);
  await settled();
  assert.equal((await task()).updatedMilliseconds, updatedMilliseconds);
  await tasks.answer("t", { who: {} });
  await second;

  let kept: string | undefined;
  await ask((answer) => Promise.resolve(void (kept = answer)));
  assert.equal(kept, "{}");
  const { status, inputRequests } = await task();
  assert.deepEqual([status, inputRequests], ["working", undefined]);
  assert(!(await keysOf(kv)).includes("task-answer"));
});

test.inMemory("forgetAllOf() leaves nothing of durable work", async ({ kv }) => {
  const claim = await beginOn(kv);
  const database = new Database(kv);
  const text = JSON.stringify("x".repeat(100_000));
  await stepStore(database).save(claim, stepOf("step:a", { text }));
  await taskStore(database).forgetAllOf(BINDING);
  await database.idle();
  assert.deepEqual(await keysOf(kv), ["task", "wake"]);
});

test.onDatabases("create() and createDurable() keep nothing for a grant whose person was erased", async ({ kv }) => {
  const database = new Database(kv);
  const tasks = taskStore(database);
  const caller = { ...RUN.caller, grantId: "g" };
  await markErased(database, ["g"]);
  const before = await keysOf(kv);
  const long = { ...BEGINNING, input: { text: "x".repeat(100_000) } };
  const ended = { message: "The connection has ended" };
  await assert.rejects(tasks.create("t", caller), ended);
  await assert.rejects(
    tasks.createDurable("t", { ...RUN, caller }, long, BINDING),
    ended,
  );
  await database.idle();
  assert.deepEqual(await keysOf(kv), before);
  await tasks.createDurable(
    "t",
    { ...RUN, caller: { ...caller, grantId: "other" } },
    long,
    BINDING,
  );
  assert.equal((await tasks.find("t", BINDING))?.status, "working");
});

test.onDatabases("due() lists the oldest wakes first, and no more than asked", async ({ kv }) => {
  using time = new FakeTime();
  const runs = runsOn(kv);
  const now = Math.floor(Date.now() / 1000);
  for (const [taskId, after] of [["c", 30], ["a", 10], ["b", 20]] as const) {
    await runs.park(await beginOn(kv, taskId), now + after, []);
  }
  const due = async () => (await wakesOf(kv)).map(({ taskId }) => taskId);
  assert.deepEqual(await due(), []);
  time.tick(20);
  assert.deepEqual(await due(), ["a", "b"]);
  time.tick(10);
  const [first] = await wakeStore(new Database(kv)).due(1);
  assert.equal(first.taskId, "a");
});

test.onDatabases("createDurable() keeps nothing for a person who was erased", async ({ kv, other }) => {
  await markErased(new Database(other), ["g"]);
  const before = await keysOf(kv);
  const run = { ...RUN, caller: { ...RUN.caller, grantId: "g" } };
  // Too long for the record: it is stored before it.
  const beginning = { ...BEGINNING, input: { text: "private ".repeat(9000) } };
  await assert.rejects(
    taskStore(new Database(kv)).createDurable("t", run, beginning, BINDING),
    /The connection has ended/,
  );
  assert.deepEqual(await keysOf(kv), before);
});

test.onDatabases("end() of durable work ends what it waits for, and nothing of another's, and lets it wait for nothing more", async ({ kv, other }) => {
  await beginOn(kv, "one");
  await beginOn(kv, "two");
  const waits = waitStore(new Database(kv));
  const waiting = (taskId: string, asker: string) =>
    ({
      subject: BINDING,
      kind: "webhook",
      tool: "report",
      question: "paid",
      taskId,
      asker,
    }) as const;
  const payload = { message: "Waits for the payment" };
  const one = await waits.open(waiting("one", "1"), payload);
  const two = await waits.open(waiting("two", "2"), payload);
  const database = new Database(other);
  await taskStore(database).end("one", { status: "cancelled" });
  await database.idle();
  const kept = (await waits.listKept(BINDING)).map(({ id }) => id);
  assert.deepEqual(kept, [two.id]);
  assert.equal(await waits.answerWebhook(one.id!, {}), false);
  await assert.rejects(
    waits.open(waiting("one", "3"), payload),
    /The task has ended/,
  );
  assert.equal(await waits.answerWebhook(two.id!, {}), true);
});

test.onDatabases("createDurable() keeps no more of what a client sent than durable work begins with", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  const begin = (characters: number) => {
    const meta = { "example.com/note": "a".repeat(characters) };
    const beginning = { ...BEGINNING, meta };
    return tasks.createDurable("t", RUN, beginning, BINDING);
  };
  await assert.rejects(
    begin(MAX_BEGINNING_CHARACTERS),
    (error) => error instanceof HttpError && error.status === 413,
  );
  assert.deepEqual(await keysOf(kv), []);
  await begin(MAX_BEGINNING_CHARACTERS - 1000);
});

test.onDatabases("park() goes on when a wait has its answer by then, though its wakes are gone", async ({ kv, other }) => {
  const claim = await beginOn(kv);
  const waits = waitStore(new Database(other));
  const waiting = {
    subject: BINDING,
    kind: "webhook",
    tool: "report",
    question: "paid",
    taskId: "t",
  } as const;
  const open = (asker: string) => waits.open({ ...waiting, asker }, {});
  const opened = [await open("1"), await open("2")];
  const keys = opened.map(({ key }) => key);
  // The answer comes between the read and the commit.
  const slow = overtaken(kv, async () => {
    await waits.answerWebhook(opened[1].id, "paid");
    for (const wake of await wakeStore(new Database(other)).all(10)) {
      await wakeStore(new Database(other)).drop(wake);
    }
  });
  const park = (kv: Deno.Kv) =>
    runsOn(kv).park(claim, undefined, [], { waits: keys });
  assert.equal(await park(slow), "answered");
  assert.equal(await park(kv), "answered");
  await waits.withdraw(opened[1]);
  assert.equal(await park(kv), "answered");
  assert.equal(
    await runsOn(kv).park(claim, undefined, [], { waits: keys.slice(0, 1) }),
    "parked",
  );
});
