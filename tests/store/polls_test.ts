import assert from "node:assert/strict";
import { nextPause, Polls } from "../../src/store/polls.ts";
import { until } from "../kit.ts";

/** Polls of a database that holds nothing, and which keys were read together. */
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
    { length: 250 },
    (_, n) => polls.start([`${n}`], { onValue() {} }),
  );
  await until(() => reads.flat().length > 500);
  assert.equal(Math.max(...reads.map(({ length }) => length)), 100);
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
