import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { RUNNING_SECONDS } from "../../../src/features/work/task_record.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { until } from "../../kit/wait.ts";
import { countedOn, test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const OWNER = { binding: "someone" };
const LONG = "x".repeat(100_000);
const never = new AbortController().signal;

function question(message: string) {
  return { method: "elicitation/create", params: { message } };
}

/** Begins a task, in a database that counts its commits. */
async function begin(kv: Deno.Kv) {
  const { place, database } = countedOn(kv);
  const tasks = taskStore(database);
  await tasks.create("t", OWNER);
  const find = async () => (await tasks.find("t", OWNER.binding))!;
  const isAsked = (count: number) =>
    until(async () =>
      Object.keys((await find()).inputRequests ?? {}).length === count
    );
  return { place, tasks, find, isAsked };
}

async function texts(kv: Deno.Kv): Promise<number> {
  return (await Array.fromAsync(kv.list({ prefix: ["text"] }))).length;
}

test.inMemory("answer() lets a task work on once nothing is asked any more", async ({ kv }) => {
  const { tasks, find, isAsked } = await begin(kv);
  const asked = ["a", "b"].map((key) =>
    tasks.ask("t", key, question(key), { signal: never })
  );
  await isAsked(2);
  await tasks.answer("t", { a: { n: 1 } });
  assert.equal((await find()).status, "input_required");
  await tasks.answer("t", { b: { n: 2 } });
  assert.equal((await find()).status, "working");
  assert.deepEqual(await Promise.all(asked), [{ n: 1 }, { n: 2 }]);
});

test.inMemory("answer() writes nothing where nothing was asked", async ({ kv }) => {
  const { place, tasks } = await begin(kv);
  const { commits } = place;
  await tasks.answer("t", { a: { text: LONG } });
  await tasks.answer("none", { a: { text: LONG } });
  assert.equal(place.commits, commits);
});

test.inMemory("answer() leaves nothing of an answer that came second", async ({ kv }) => {
  const { tasks, isAsked } = await begin(kv);
  const asked = tasks.ask("t", "a", question("a"), { signal: never });
  await isAsked(1);
  await Promise.all([1, 2].map(() => tasks.answer("t", { a: { text: LONG } })));
  assert.deepEqual(await asked, { text: LONG });
  assert.equal(await texts(kv), 0);
});

test.inMemory("ask() leaves nothing of a long question behind", async ({ kv }) => {
  const { tasks, isAsked } = await begin(kv);
  const asked = tasks.ask("t", "a", question(LONG), { signal: never });
  await isAsked(1);
  assert(await texts(kv) > 0);
  await tasks.answer("t", { a: {} });
  await asked;
  assert.equal(await texts(kv), 0);
});

test.inMemory("ask() keeps a long question once, however many runs ask it, until it is answered or its task ends", async ({ kv }) => {
  const { tasks, isAsked } = await begin(kv);
  const keep = () => Promise.resolve();
  const askAndPark = async (key: string, count: number) => {
    const run = new AbortController();
    const { signal } = run;
    const asked = tasks.ask("t", key, question(LONG), { signal, keep });
    await isAsked(count);
    run.abort();
    await assert.rejects(asked);
    return await texts(kv);
  };
  const parts = await askAndPark("a", 1);
  assert.equal(await askAndPark("a", 1), parts);
  await tasks.answer("t", { a: {} });
  assert.equal(await texts(kv), 0);
  assert.equal(await askAndPark("b", 1), parts);
  await tasks.end("t", { status: "cancelled" });
  assert.equal(await texts(kv), 0);
});

test.inMemory("ask() has room for a thousand characters in the task's record", async ({ kv }) => {
  const { tasks, isAsked } = await begin(kv);
  const empty = JSON.stringify(question("")).length;
  const asked = [1000, 1001].map((length, n) =>
    tasks.ask("t", `${n}`, question("x".repeat(length - empty)), {
      signal: never,
    })
  );
  await isAsked(2);
  assert.equal(await texts(kv), 1);
  await tasks.answer("t", { 0: {}, 1: {} });
  await Promise.all(asked);
});

test.inMemory("ask() keeps a long question no longer than its task", async ({ kv }) => {
  using time = new FakeTime();
  const { tasks, isAsked } = await begin(kv);
  const stop = new AbortController();
  const { signal } = stop;
  const asked = tasks.ask("t", "a", question(LONG), { signal });
  await isAsked(1);
  time.tick(RUNNING_SECONDS);
  assert.deepEqual(await new Database(kv).list([]), []);
  stop.abort();
  await assert.rejects(asked);
});

test.inMemory("ask() ends with the signal's reason", async ({ kv }) => {
  const { tasks, isAsked } = await begin(kv);
  const abort = new AbortController();
  const asked = tasks.ask("t", "a", question("a"), { signal: abort.signal });
  await isAsked(1);
  abort.abort(new Error("enough"));
  await assert.rejects(asked, /enough/);
});
