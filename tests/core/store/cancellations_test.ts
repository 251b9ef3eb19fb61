import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { cancellationStore } from "../../../src/core/store/cancellations.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { overtaken } from "../../kit/overtaken_kv.ts";

/** Makes a request that has just begun. */
function request(requestId: string | number, sessionId = "s") {
  return { sessionId, requestId, startedMilliseconds: performance.now() };
}

/** Opens the cancellations of a process that looks whenever it is asked to. */
function cancellationsOn(kv: Deno.Kv) {
  return cancellationStore(new Database(kv, { isRemote: false }));
}

test.onDatabases("find() finds what another process was told to cancel", async ({ kv, other }) => {
  const running = [request(1), request("1"), request(1, "t"), request(2)];
  const cancellations = cancellationsOn(other);
  await cancellations.save("s", 1);
  assert.deepEqual(
    await cancellationsOn(kv).find(() => running),
    [running[0]],
  );
});

test.onDatabases("find() looks at any number of requests", async ({ kv }) => {
  const cancellations = cancellationsOn(kv);
  const running = Array.from({ length: 25 }, (_, n) => request(n));
  for (const n of [0, 9, 10, 24]) await cancellations.save("s", n);
  const found = await cancellations.find(() => running);
  assert.deepEqual(found.map(({ requestId }) => requestId), [0, 9, 10, 24]);
  assert.deepEqual(
    await cancellationsOn(kv).find(() => []),
    [],
  );
});

test.onDatabases("find() leaves a request alone that began long after the cancellation", async ({ kv }) => {
  using time = new FakeTime();
  const cancellations = cancellationsOn(kv);
  await cancellations.save("s", 1);
  time.tick(11);
  assert.deepEqual(await cancellations.find(() => [request(1)]), []);
});

test.onDatabases("find() cancels once: an id used again at once is left alone", async ({ kv, other }) => {
  const cancellations = cancellationsOn(kv);
  await cancellations.save("s", 1);
  assert.equal((await cancellations.find(() => [request(1)])).length, 1);
  for (const database of [kv, other]) {
    const store = cancellationsOn(database);
    assert.deepEqual(await store.find(() => [request(1)]), []);
  }
  await cancellations.save("s", 1);
  assert.equal((await cancellations.find(() => [request(1)])).length, 1);
});

test.onDatabases("find() forgets a cancellation after five minutes", async ({ kv }) => {
  using time = new FakeTime();
  const cancellations = cancellationsOn(kv);
  const running = [request(1)];
  await cancellations.save("s", 1);
  assert.equal((await cancellations.find(() => running)).length, 1);
  time.tick(5 * 60);
  assert.deepEqual(
    await cancellationsOn(kv).find(() => running),
    [],
  );
});

function never(): never {
  throw new Error("Nothing was cancelled: no one has to be looked for");
}

test.onDatabases("find() looks for no one until something new is cancelled", async ({ kv, other }) => {
  using time = new FakeTime();
  const cancellations = cancellationsOn(kv);
  const elsewhere = cancellationsOn(other);
  const running = [request(1), request(2)];
  await elsewhere.save("s", 1);
  assert.equal((await cancellations.find(() => running)).length, 1);
  time.tick(10);
  assert.deepEqual(await cancellations.find(never), []);
  await elsewhere.save("s", 2);
  const found = await cancellations.find(() => running);
  assert.deepEqual(found, [running[1]]);
});

test.onDatabases("find() looks again when a look failed", async ({ kv }) => {
  const cancellations = cancellationsOn(kv);
  const running = [request(1)];
  await cancellations.save("s", 1);
  await assert.rejects(cancellations.find(never));
  assert.equal((await cancellations.find(() => running)).length, 1);
});

test.onDatabases("find() finds a cancellation that overtook its request, or came by a clock behind", async ({ kv, other }) => {
  using time = new FakeTime();
  const cancellations = cancellationsOn(kv);
  const behind = new Database(other, {
    clock: () => Date.now() - 9000,
    isRemote: false,
  });
  await cancellationStore(behind).save("s", 1);
  assert.deepEqual(await cancellations.find(() => []), []);
  time.tick(0.5);
  const running = [request(1)];
  assert.deepEqual(await cancellations.find(() => running), running);
});

Deno.test("find() looks at a remote database once a second", async () => {
  using time = new FakeTime();
  const kv = await Deno.openKv(":memory:");
  const cancellations = cancellationStore(new Database(kv, { isRemote: true }));
  const request = {
    sessionId: "s",
    requestId: 1,
    startedMilliseconds: performance.now(),
  };
  const found = async () => (await cancellations.find(() => [request])).length;
  assert.equal(await found(), 0);
  await cancellations.save("s", 1);
  time.tick(0.9);
  assert.equal(await found(), 0);
  time.tick(0.1);
  assert.equal(await found(), 1);
  kv.close();
});

test.onDatabases("find() leaves a cancellation that is newer than the one it fulfils", async ({ kv, other }) => {
  const others = cancellationsOn(other);
  await others.save("s", 1);
  const slow = overtaken(kv, () => others.save("s", 1));
  const cancellations = cancellationsOn(slow);
  const found = async () =>
    (await cancellations.find(() => [request(1)])).length;
  assert.equal(await found(), 1);
  assert.equal(await found(), 1);
  assert.equal(await found(), 0);
});

Deno.test("find() takes a cancellation from ten seconds before its request, and none from before that", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");
  const found = async (seconds: number) => {
    const cancellations = cancellationsOn(kv);
    await cancellations.save("s", 1);
    time.tick(seconds);
    const running = [request(1)];
    return (await cancellations.find(() => running)).length;
  };
  assert.equal(await found(10), 1);
  assert.equal(await found(10.001), 0);
});

Deno.test("find() finds the cancellation for a request during which the clock was set back", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");
  const cancellations = cancellationsOn(kv);
  const running = [request(1)];
  time.tick(60);
  time.set(-3600);
  await cancellations.save("s", 1);
  assert.deepEqual(await cancellations.find(() => running), running);
});
