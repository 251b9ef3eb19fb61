import assert from "node:assert/strict";
import type { LimitKey } from "../../../../src/core/mcp/exchange/limits.ts";
import {
  type RunningCall,
  RunningCalls,
  Subscriptions,
} from "../../../../src/core/mcp/exchange/running.ts";
import type { CancellationStore } from "../../../../src/core/store/cancellations.ts";
import { HttpError } from "../../../../src/core/errors.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { silentLogger } from "../../../kit/log.ts";
import { settled } from "../../../kit/wait.ts";
import { Timers } from "../../../kit/timers.ts";

const ADA: LimitKey = { name: "ada", isMany: false };
const BOB: LimitKey = { name: "bob", isMany: false };

function callOf(limitKey?: LimitKey): RunningCall & { stopped?: string } {
  const call: ReturnType<typeof callOf> = {
    limitKey,
    execution: {
      stop: (reason) => call.stopped = reason,
      cancel() {},
      expel() {},
    },
    watch: { beat() {} },
    isLive: () => Promise.resolve(true),
  };
  return call;
}

function runningCalls(
  find: CancellationStore["find"] = () => Promise.resolve([]),
): RunningCalls {
  const cancellations = { save: () => Promise.resolve(), find };
  return new RunningCalls(cancellations, silentLogger);
}

Deno.test("check() refuses a caller with too many calls under way, and no one else", () => {
  const running = runningCalls();
  const calls = Array.from({ length: 1000 }, () => callOf(ADA));
  for (const call of calls) {
    running.check(call);
    running.add(call);
  }
  assert.throws(
    () => running.check(callOf(ADA)),
    (error) => error instanceof HttpError && error.status === 429,
  );
  running.check(callOf(BOB));
  running.check(callOf());
  running.add(callOf(BOB));
  running.delete(calls[0]);
  running.delete(calls[0]);
  running.check(callOf(ADA));
  running.add(callOf(ADA));
  assert.throws(() => running.check(callOf(ADA)), { status: 429 });
  running.stop();
});

Deno.test("add() tells a call that came while the server was stopping", () => {
  const running = runningCalls();
  const early = callOf(ADA);
  running.add(early);
  assert.equal(early.stopped, undefined);
  running.stop();
  const late = callOf(ADA);
  running.add(late);
  assert.equal(early.stopped, "The server stops");
  assert.equal(late.stopped, "The server stops");
});

Deno.test("calls under way beat, and no timer runs without one", async () => {
  using timers = new Timers();
  using _time = new FakeTime();
  const running = runningCalls();
  const beats: number[] = [];
  const calls = [callOf(), callOf()].map((call) => ({
    ...call,
    watch: { beat: (now: number) => void beats.push(now) },
  }));
  for (const call of calls) running.add(call);
  await timers.beat();
  assert.deepEqual(beats, [performance.now(), performance.now()]);
  for (const call of calls) running.delete(call);
  await timers.beat();
  assert.equal(timers.running.size, 0);
  running.add(calls[0]);
  await timers.beat();
  assert.deepEqual([timers.running.size, beats.length], [1, 3]);
  running.stop();
  assert.equal(timers.running.size, 0);
});

Deno.test("each call is asked once a second whether it may go on, and not before it has said so, wherever the clock is set", async () => {
  using timers = new Timers();
  using time = new FakeTime();
  const running = runningCalls();
  const asked: PromiseWithResolvers<boolean>[] = [];
  let expelled = 0;
  const call = callOf();
  running.add({
    ...call,
    isLive() {
      asked.push(Promise.withResolvers());
      return asked.at(-1)!.promise;
    },
    execution: { ...call.execution, expel: () => void expelled++ },
  });
  const beatAfter = async (seconds: number) => {
    time.tick(seconds);
    await timers.beat();
    return asked.length;
  };
  assert.equal(await beatAfter(0), 1);
  assert.equal(await beatAfter(1), 1);
  asked[0].resolve(true);
  await settled();
  time.set(7200);
  assert.equal(await beatAfter(0.999), 1);
  time.set(-3600);
  assert.equal(await beatAfter(0.001), 2);
  assert.equal(expelled, 0);
  asked[1].resolve(false);
  await settled();
  assert.equal(expelled, 1);
  running.stop();
});

Deno.test("cancellations are looked for one look at a time, for the calls that can have one", async () => {
  using timers = new Timers();
  const looks: PromiseWithResolvers<never[]>[] = [];
  const sought: unknown[] = [];
  const running = runningCalls((requests) => {
    sought.push(requests().map(({ requestId }) => requestId));
    looks.push(Promise.withResolvers());
    return looks.at(-1)!.promise;
  });
  running.add(callOf());
  await timers.beat();
  assert.deepEqual(sought, []);
  const cancellable = { sessionId: "s", requestId: 1, startedMilliseconds: 0 };
  running.add({ ...callOf(), cancellable });
  running.add(callOf());
  await timers.beat();
  await timers.beat();
  assert.deepEqual(sought, [[1]]);
  looks[0].resolve([]);
  await settled();
  await timers.beat();
  assert.deepEqual(sought, [[1], [1]]);
  running.stop();
});

/** Makes a subscription that counts how often it is told to end. */
function subscription(limitKey?: LimitKey) {
  const one = {
    limitKey,
    stopped: 0,
    execution: { stop: () => void one.stopped++ },
  };
  return one;
}

const BUSY = {
  status: 503,
  message: "Too many subscriptions",
  headers: { "retry-after": "30" },
};

Deno.test("Subscriptions refuses one more than the ten thousand that a process carries", () => {
  const subscriptions = new Subscriptions();
  const one = subscription();
  subscriptions.add(one);
  for (let i = 1; i < 10_000; i++) subscriptions.add(subscription());
  assert.throws(() => subscriptions.add(subscription()), BUSY);
  subscriptions.delete(one);
  subscriptions.add(one);
});

Deno.test("Subscriptions.end() tells all to end and refuses new ones", () => {
  const subscriptions = new Subscriptions();
  const [open, left] = [subscription(), subscription()];
  subscriptions.add(open);
  subscriptions.add(left);
  subscriptions.delete(left);
  subscriptions.end();
  assert.deepEqual([open.stopped, left.stopped], [1, 0]);
  assert.throws(() => subscriptions.add(subscription()), {
    ...BUSY,
    message: "The server is stopping",
  });
});

Deno.test("Subscriptions refuses a caller more than a hundred, and no one else", () => {
  const subscriptions = new Subscriptions();
  const ada = { name: "ada", isMany: false };
  const one = subscription(ada);
  subscriptions.add(one);
  for (let i = 1; i < 100; i++) subscriptions.add(subscription(ada));
  assert.throws(() => subscriptions.add(subscription(ada)), { status: 429 });
  subscriptions.add(subscription({ name: "bob", isMany: false }));
  subscriptions.delete(one);
  subscriptions.delete(one);
  subscriptions.add(subscription(ada));
  assert.throws(() => subscriptions.add(subscription(ada)), { status: 429 });
});
