import assert from "node:assert/strict";
import { nextPause, Polls, waitFor } from "../../../src/core/kv/polls.ts";
import { until } from "../../kit/wait.ts";

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
  // They come together as the pauses grow, however far apart they began.
  await until(() => reads.at(-1)?.join() === "a,b");
  for (const read of reads) assert.equal(new Set(read).size, read.length);
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

Deno.test("nextPause() grows with the wait, to a bound, and stays short for a short one", () => {
  const pauses = [];
  let pause = 0;
  for (let waited = 0; waited < 3_600_000; waited += pause + 1) {
    pauses.push(pause = nextPause(pause + 1, waited));
    if (waited < 1000) assert(pause < 500, `${pause} after ${waited}`);
  }
  assert.deepEqual(pauses, pauses.toSorted((a, b) => a - b));
  // An hour is not polled as often as a few seconds.
  assert(pause > 1000 && pause <= 5000, `${pause}`);
  assert(nextPause(pause, 3_600_000, 100) < pause);
});

Deno.test("Polls leaves no timer once nothing is waited for", async () => {
  const { polls, reads } = startPolls(60_000);
  const stops = [];
  for (const name of ["a", "b"]) {
    stops.push(polls.start([name], { onValue() {} }));
    await until(() => reads.at(-1)?.[0] === name);
  }
  stops.push(polls.start(["c"], { onValue() {} }));
  // A timer that is left fails the test.
  await Promise.all(stops.map((stop) => stop()));
});

Deno.test("waitFor() whose watch cannot begin rejects once: no promise of it rejects when its signal fires later", async () => {
  const stray: unknown[] = [];
  const onStray = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    stray.push(event.reason);
  };
  addEventListener("unhandledrejection", onStray);
  try {
    const { polls } = startPolls();
    const over = new AbortController();
    const database = {
      poll: polls.start.bind(polls),
      watch() {
        throw new Error("no database");
      },
    };
    await assert.rejects(
      waitFor(database, ["a"], () => false, over.signal),
      /no database/,
    );
    over.abort();
    // Rejections are reported after all other promises.
    await new Promise((resolve) => setTimeout(resolve));
    assert.deepEqual(stray, []);
  } finally {
    removeEventListener("unhandledrejection", onStray);
  }
});
