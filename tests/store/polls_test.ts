import assert from "node:assert/strict";
import { nextPause, Polls } from "../../src/store/polls.ts";
import { until } from "../kit.ts";
import { HastyTimers, SteadyTime } from "./timers.ts";

/**
 * Makes polls of an empty database, with a record of keys that were read
 * together.
 */
function startPolls(pauseMilliseconds?: number) {
  const reads: string[][] = [];
  const state = { failure: undefined as Error | undefined };
  const polls = new Polls(async (keys) => {
    reads.push(keys.map(([name]) => name as string));
    await Promise.resolve();
    if (state.failure) throw state.failure;
    return keys.map(() => ({ value: undefined }));
  }, pauseMilliseconds);
  return { polls, reads, state };
}

Deno.test("Polls reads what several wait for together, and one key once", async () => {
  const { polls, reads } = startPolls();
  const heard: string[] = [];
  const stops = ["a", "b", "a"].map((name) =>
    polls.start([name], { onValue: () => heard.push(name) })
  );
  await until(() => reads.length > 3);
  for (const read of reads) assert.equal(new Set(read).size, read.length);
  assert.deepEqual(reads.at(-1), ["a", "b"]);
  assert.deepEqual(heard.slice(-3), ["a", "a", "b"]);
  await Promise.all(stops.map((stop) => stop()));
});

Deno.test("Polls reads at most a hundred keys side by side", async () => {
  const { polls, reads } = startPolls();
  const stops = Array.from(
    { length: 201 },
    (_, n) => polls.start([`${n}`], { onValue() {} }),
  );
  await until(() => reads.flat().length > 500);
  assert.equal(Math.max(...reads.map(({ length }) => length)), 100);
  assert(reads.every(({ length }) => length > 0));
  await Promise.all(stops.map((stop) => stop()));
});

Deno.test("Polls tells of a read that failed, and goes on", async () => {
  const { polls, state } = startPolls();
  const failure = state.failure = new Error("away");
  const failures: unknown[] = [];
  let values = 0;
  const stop = polls.start(["a"], {
    onValue: () => values++,
    onFailure: (error) => failures.push(error),
  });
  await until(() => failures.length > 1);
  assert.deepEqual([failures[0], values], [failure, 0]);
  state.failure = undefined;
  await until(() => values > 1);
  await stop();
});

Deno.test("Polls reads nothing for what was stopped, and tells it nothing", async () => {
  const { polls, reads } = startPolls();
  const stop = polls.start(["a"], { onValue: () => assert.fail() });
  await stop();
  const other = polls.start(["b"], { onValue() {} });
  await until(() => reads.length > 2);
  await other();
  assert.deepEqual(new Set(reads.slice(1).flat()), new Set(["b"]));
});

Deno.test("Polls leaves the rest to watches where they cross processes", async () => {
  const { polls, reads } = startPolls(3_600_000);
  const stop = polls.start(["a"], { onValue() {} });
  const stopOther = polls.start(["b"], { onValue() {} });
  await until(() => reads.length === 2);
  assert.deepEqual(reads, [["a"], ["b"]]);
  await Promise.all([stop(), stopOther()]);
});

Deno.test("nextPause() grows to a tenth of a second, then with the wait, to two seconds", () => {
  assert.equal(nextPause(20, 20), 30);
  assert.equal(nextPause(90, 1000), 100);
  assert.equal(nextPause(100, 2000), 100);
  assert.equal(nextPause(100, 10_000), 500);
  assert.equal(nextPause(500, 3_600_000), 2000);
  assert.equal(nextPause(100, 3_600_000, 100), 100);
});

Deno.test("Polls reads at once what is waited for now, and with it what is due within a quarter of its pause", async () => {
  using time = new SteadyTime();
  const { polls, reads } = startPolls();
  const start = async (name: string) => {
    const stop = polls.start([name], { onValue() {} });
    const read = reads.at(-1);
    await new Promise((resolve) => setTimeout(resolve));
    return { stop, read };
  };
  const first = await start("a");
  assert.deepEqual(first.read, ["a"]);
  // It is due at 30.
  time.tick(22);
  const early = await start("b");
  assert.deepEqual(early.read, ["b"]);
  time.tick(0.5);
  const late = await start("c");
  assert.deepEqual(late.read, ["a", "c"]);
  await Promise.all([first, early, late].map(({ stop }) => stop()));
});

Deno.test("Polls keeps one timer, and none once nothing is waited for", async () => {
  const { polls, reads } = startPolls(60_000);
  const stops = [];
  for (const name of ["a", "b"]) {
    stops.push(polls.start([name], { onValue() {} }));
    await until(() => reads.at(-1)?.[0] === name);
    await new Promise((resolve) => setTimeout(resolve));
  }
  await Promise.all(stops.map((stop) => stop()));
  using timers = new HastyTimers();
  const stop = polls.start(["c"], { onValue() {} });
  await stop();
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(timers.milliseconds.filter((it) => it > 0), []);
});
