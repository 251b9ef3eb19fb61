import assert from "node:assert/strict";
import { StorageError } from "../../../src/core/errors.ts";
import { DeadlineError, Operations } from "../../../src/core/kv/operations.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { SteadyTime } from "../../kit/fake_time.ts";

const hang = () => new Promise<never>(() => {});
const answer = () => Promise.resolve("here");
const turn = () => new Promise((resolve) => setTimeout(resolve));

/** Makes operations on a database whose probes a test controls. */
function openOperations() {
  const looks: PromiseWithResolvers<void>[] = [];
  const operations = new Operations(() => {
    const look = Promise.withResolvers<void>();
    looks.push(look);
    return look.promise;
  });
  return { looks, operations };
}

Deno.test("run() looks for a database that hung at once, then from time to time, one look at a time", async () => {
  using _timers = new HastyTimers();
  using time = new SteadyTime();
  const { looks, operations } = openOperations();
  await assert.rejects(operations.run(hang), StorageError);
  assert.equal(looks.length, 1);
  const looksAfter = async (seconds: number) => {
    time.tick(seconds);
    await assert.rejects(operations.run(answer), StorageError);
    return looks.length;
  };
  assert.equal(await looksAfter(2), 1, "the first goes on");
  looks[0].reject(new Error("away"));
  await turn();
  assert.equal(await looksAfter(0), 2);
  looks[1].reject(new Error("away"));
  await turn();
  assert.equal(await looksAfter(0), 2, "not with every request");
  assert.equal(await looksAfter(2), 3);
  looks[2].resolve();
  await turn();
  assert.equal(await operations.run(answer), "here");
});

Deno.test("run() begins another look where one has hung for long", async () => {
  using _timers = new HastyTimers();
  using time = new SteadyTime();
  const { looks, operations } = openOperations();
  await assert.rejects(operations.run(hang), StorageError);
  time.tick(60);
  await assert.rejects(operations.run(answer), StorageError);
  assert.equal(looks.length, 2);
  looks[1].resolve();
  await turn();
  assert.equal(await operations.run(answer), "here");
});

Deno.test("what waits for its turn too long says nothing of the database: the next waits as well", async () => {
  const { operations } = openOperations();
  const { promise, resolve } = Promise.withResolvers<void>();
  const all = Array.from({ length: 128 }, () => operations.run(() => promise));
  const isBusy = ({ cause }: StorageError) =>
    cause instanceof DeadlineError && !cause.isSent;
  {
    using _timers = new HastyTimers();
    await assert.rejects(operations.run(answer), isBusy);
  }
  const next = operations.run(answer);
  resolve();
  await Promise.all(all);
  assert.equal(await next, "here");
});

Deno.test("128 operations that never end keep no one out of a database that answers", async () => {
  using _timers = new HastyTimers();
  const { looks, operations } = openOperations();
  const all = Array.from({ length: 128 }, () => operations.run(hang));
  await Promise.allSettled(all);
  looks[0].resolve();
  await turn();
  assert.equal(await operations.run(answer), "here");
});

Deno.test("an operation that hangs refuses no other where the database has answered one that was sent later", async () => {
  using _timers = new HastyTimers();
  using time = new SteadyTime();
  const { looks, operations } = openOperations();
  const early = Promise.withResolvers<string>();
  const late = operations.run(() => early.promise);
  time.tick(0.001);
  const lost = operations.run(hang);
  time.tick(0.001);
  assert.equal(await operations.run(answer), "here");
  // The answer to an older one comes last.
  early.resolve("here");
  assert.equal(await late, "here");
  await assert.rejects(lost, StorageError);
  assert.equal(looks.length, 1);
  assert.equal(await operations.run(answer), "here");
  time.tick(0.001);
  await assert.rejects(operations.run(hang), StorageError);
  await assert.rejects(operations.run(answer), StorageError);
});

Deno.test("answersForMilliseconds counts from the last answer that was late or none", async () => {
  using time = new SteadyTime();
  const { operations } = openOperations();
  assert.equal(operations.answersForMilliseconds, Infinity);
  const failing = operations.run(() => Promise.reject(new Error("away")));
  await assert.rejects(failing, StorageError);
  time.tick(1);
  await operations.run(answer);
  assert.equal(operations.answersForMilliseconds, 1000);
  await operations.run(() => Promise.resolve(time.tick(2.501)));
  assert.equal(operations.answersForMilliseconds, 0);
});

Deno.test("run() passes on what Deno KV says of arguments, and nothing else", async () => {
  const { operations } = openOperations();
  for (
    const misuse of [
      new TypeError("()=>{} could not be cloned."),
      new Error(
        "KV Connect failed to call 'http://127.0.0.1:4512/v2/atomic_write' " +
          "(status=400 Bad Request): Too many checks",
      ),
      new TypeError("Value too large (max 65536 bytes)"),
    ]
  ) {
    await assert.rejects(operations.run(() => Promise.reject(misuse)), misuse);
  }
  for (
    const failure of [
      new DOMException("gone", "AbortError"),
      new TypeError("connection refused"),
    ]
  ) {
    await assert.rejects(
      operations.run(() => Promise.reject(failure)),
      StorageError,
    );
  }
});

Deno.test("idle() resolves for everyone who waits for it, and again later", async () => {
  const { operations } = openOperations();
  for (let round = 0; round < 2; round++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const running = operations.run(() => promise);
    const waiting = [operations.idle(), operations.idle()];
    resolve();
    await Promise.all([running, ...waiting]);
  }
});

Deno.test("idle() waits for the next try of an operation that has failed", async () => {
  const { operations } = openOperations();
  let tries = 0;
  const repeated = operations.repeat(() =>
    ++tries === 1 ? Promise.reject(new Error("away")) : answer()
  );
  await turn();
  assert.equal(tries, 1);
  await operations.idle();
  assert.equal(tries, 2);
  assert.equal(await repeated, "here");
});

Deno.test("idle() waits for the operation that follows another, and for the one after it", async () => {
  const { operations } = openOperations();
  const slow = () => turn().then(turn);
  let ended = 0;
  const work = async () => {
    for (; ended < 3; ended++) await operations.run(slow);
  };
  const running = work();
  await operations.idle();
  assert.equal(ended, 3);
  await running;
});
