import assert from "node:assert/strict";
import {
  Buckets,
  type Rate,
  SharedBuckets,
} from "../../../src/core/http/buckets.ts";
import type { Logger } from "../../../src/core/log/log.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const NOW = 1_800_000_000_000;

/** Counts the tokens that can be taken; no bucket here has 100. */
function takeAll(buckets: Buckets, name: string, time?: number): number {
  let count = 0;
  while (count < 100 && buckets.take(name, time) === 0) count++;
  return count;
}

Deno.test("take() gives a burst, then says how long to wait", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 2 });
  assert.equal(takeAll(buckets, "a", NOW), 5);
  assert.equal(buckets.take("a", NOW), 500);
  assert.equal(buckets.take("b", NOW), 0);
  assert.equal(takeAll(buckets, "a", NOW + 1000), 2);
  assert.equal(takeAll(buckets, "a", NOW + 60_000), 5);
});

Deno.test("giveBack() makes room again", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 2 });
  takeAll(buckets, "a", NOW);
  buckets.giveBack("a");
  assert.equal(takeAll(buckets, "a", NOW), 1);
});

Deno.test("giveBack() to a bucket that is forgotten makes no more room than there was", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 2 });
  buckets.giveBack("a");
  assert.equal(takeAll(buckets, "a", NOW), 5);
});

Deno.test("missing() counts the tokens that have not come back", () => {
  const buckets = new Buckets({ burst: 8, perSecond: 2 });
  assert.equal(buckets.missing("a", NOW), 0);
  buckets.take("a", NOW);
  assert.equal(buckets.missing("a", NOW + 250), 0.5);
  assert.equal(buckets.missing("a", NOW + 500), 0);
});

Deno.test("take() goes by no clock that can be set", () => {
  using time = new FakeTime();
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  assert.equal(takeAll(buckets, "a"), 5);
  for (const seconds of [-3600, 7200]) {
    time.set(seconds);
    assert.equal(buckets.take("a"), 1000);
  }
  time.tick(1);
  assert.equal(takeAll(buckets, "a"), 1);
});

Deno.test("Buckets remember 10,000, and the busiest of late among them", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  let most = 0;
  for (let n = 0; n < 50_000; n++) {
    buckets.take(`${n}`, NOW);
    most = Math.max(most, buckets.size);
  }
  assert.equal(most, 10_000);
  assert.equal(takeAll(buckets, "49999", NOW), 4);
});

Deno.test("Buckets forget the full ones first", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  for (let n = 0; n < 5000; n++) takeAll(buckets, `${n}`, NOW);
  for (let n = 5000; n < 10_000; n++) buckets.take(`${n}`, NOW);
  buckets.take("0", NOW);
  assert.equal(buckets.size, 10_000);
  // The time at which buckets with one token taken are full again.
  const time = NOW + 1000;
  buckets.take("newcomer", time);
  assert.equal(buckets.size, 5001);
  assert.equal(takeAll(buckets, "0", time), 1);
});

Deno.test("Buckets forget a tenth, the oldest, where all have to wait as long", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  for (let n = 0; n <= 10_000; n++) takeAll(buckets, `${n}`, NOW);
  assert.equal(buckets.size, 9001);
  assert.equal(takeAll(buckets, "9999", NOW), 0);
  assert.equal(takeAll(buckets, "1001", NOW), 0);
  assert.equal(takeAll(buckets, "0", NOW), 5);
});

Deno.test("Buckets free no name that has to wait, however many others come", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  assert.equal(takeAll(buckets, "busy", NOW), 5);
  for (let n = 0; n < 30_000; n++) buckets.take(`${n}`, NOW);
  assert.equal(buckets.take("busy", NOW), 1000);
});

Deno.test("SharedBuckets free no name that has to wait, and remember no more shares than buckets", async () => {
  using processes = await startProcesses({ burst: 100, perSecond: 1 });
  const { place, count } = processes;
  const one = processes.start();
  assert.equal(await count(one, 200), 100);
  for (let n = 0; n < 30_000; n++) await one.take(`${n}`, place.time);
  assert.equal(await count(one, 200), 0);
  assert.ok(one.size <= 10_000);
});

/** Several processes that share what they take, at a time that a test sets. */
async function startProcesses(rate: Rate) {
  const kv = await Deno.openKv(":memory:");
  const place = {
    time: NOW,
    setBy: 0,
    isBroken: false,
    failures: 0,
    onFailure: () => {},
    warnings: 0,
  };
  const log = { warning: () => place.warnings++ } as unknown as Logger;
  return {
    place,
    start() {
      const database = new Database(kv, {
        clock: () => place.time + place.setBy,
      });
      const get = database.get.bind(database);
      database.get = (key) => {
        if (!place.isBroken) return get(key);
        place.failures++;
        place.onFailure();
        return Promise.reject(new Error("gone"));
      };
      return new SharedBuckets({ database, log }, "token", rate);
    },
    /** The number that is let through of so many at once. */
    async count(buckets: SharedBuckets, tries: number): Promise<number> {
      const waits = await Promise.all(
        Array.from({ length: tries }, () => buckets.take("a", place.time)),
      );
      return waits.filter((wait) => wait === 0).length;
    },
    records: () => Array.fromAsync(kv.list({ prefix: [] })),
    [Symbol.dispose]: () => kv.close(),
  };
}

Deno.test("take() lets two processes together have a small limit exactly, fill after fill", async () => {
  using processes = await startProcesses({ burst: 6, perSecond: 0.1 });
  const { place, count } = processes;
  const [one, other] = [processes.start(), processes.start()];
  for (let fill = 0; fill < 4; fill++) {
    assert.equal(await count(one, 5), 5);
    assert.equal(await count(other, 6), 1);
    assert.equal(await count(one, 6), 0);
    place.time += 60_000;
    const both = await Promise.all([count(other, 6), count(one, 6)]);
    assert.equal(both[0] + both[1], 6);
    place.time += 60_000;
  }
});

Deno.test("take() lets one more through when the next token comes, though a process was refused meanwhile", async () => {
  using processes = await startProcesses({ burst: 6, perSecond: 0.1 });
  const { place, count } = processes;
  const [one, other] = [processes.start(), processes.start()];
  assert.equal(await count(other, 3), 3);
  place.time += 5000;
  assert.equal(await count(one, 6), 3);
  place.time += 5000;
  assert.equal(await count(one, 6), 1);
});

Deno.test("take() makes no one wait for the hour by which a clock is set back", async () => {
  using processes = await startProcesses({ burst: 6, perSecond: 0.1 });
  const { place, count } = processes;
  const [one, other] = [processes.start(), processes.start()];
  assert.equal(await count(other, 5), 5);
  assert.equal(await count(one, 6), 1);
  place.setBy -= 3_600_000;
  assert.equal(await one.take("a", place.time), 10_000);
  for (const letThrough of [0, 1]) {
    place.time += 10_000;
    assert.equal(await count(one, 6), letThrough);
  }
});

Deno.test("take() lets each process have a tenth of a large limit beyond what all have, fill after fill", async () => {
  using processes = await startProcesses({ burst: 1000, perSecond: 10 });
  const { place, count } = processes;
  const all = Array.from({ length: 3 }, () => processes.start());
  for (let fill = 0; fill < 3; fill++) {
    const let_ = await Promise.all(all.map((one) => count(one, 2000)));
    const sum = let_.reduce((a, b) => a + b);
    assert(sum >= 1000 && sum <= 1000 + 3 * 100, `${sum} were let through`);
    place.time += 100_000;
  }
});

Deno.test("take() asks no database for the first tenth, nor for what is refused", async () => {
  using processes = await startProcesses({ burst: 100, perSecond: 1 });
  const one = processes.start();
  assert.equal(await processes.count(one, 10), 10);
  assert.deepEqual(await processes.records(), []);
  await one.take("another", processes.place.time);
  assert.equal(await processes.count(one, 1), 1);
  assert.equal((await processes.records()).length, 1);
  assert.equal(await processes.count(one, 200), 89);
  processes.place.isBroken = true;
  assert.equal(await processes.count(one, 50), 0);
  processes.place.time += 100_000;
  assert.equal(await processes.count(one, 10), 10);
  assert.equal(processes.place.warnings, 0);
});

Deno.test("take() limits alone while the database is away, asks it once a second, and says so once a minute", async () => {
  using _standing = new FakeTime();
  using processes = await startProcesses({ burst: 6, perSecond: 0.1 });
  const one = processes.start();
  processes.place.isBroken = true;
  for (const [milliseconds, asked] of [[0, 1], [999, 1], [1, 2]]) {
    processes.place.time += milliseconds;
    assert.equal(await processes.count(one, 2), 2);
    assert.equal(processes.place.failures, asked);
    assert.equal(processes.place.warnings, 1);
  }
  assert.equal(await processes.count(one, 1), 0);
});

Deno.test("take() limits alone for a second after a failure, however late that came", async () => {
  using time = new FakeTime();
  using processes = await startProcesses({ burst: 6, perSecond: 0.1 });
  const { place } = processes;
  place.isBroken = true;
  place.onFailure = () => time.tick(3);
  const one = processes.start();
  for (const [seconds, asked] of [[0, 1], [0.999, 1], [0.001, 2]]) {
    time.tick(seconds);
    assert.equal(await one.take("a"), 0);
    assert.equal(place.failures, asked);
  }
});

Deno.test("take() tells the others what it gave while the database was away, and has not come back since", async () => {
  using _standing = new FakeTime();
  using processes = await startProcesses({ burst: 6, perSecond: 0.1 });
  const { place, count } = processes;
  const [one, other] = [processes.start(), processes.start()];
  place.isBroken = true;
  assert.equal(await count(one, 4), 4);
  place.time += 1000;
  place.isBroken = false;
  assert.equal(await count(one, 1), 1);
  assert.equal(await count(other, 6), 1);
  place.time += 60_000;
  place.isBroken = true;
  assert.equal(await count(one, 3), 3);
  for (let calls = 0; calls < 20; calls++) {
    place.time += 10_000;
    assert.equal(await count(one, 1), 1);
  }
  place.time += 1000;
  place.isBroken = false;
  assert.equal(await count(one, 3), 3);
  assert.equal(await count(other, 6), 0);
});

Deno.test("giveBack() makes room again, for this process", async () => {
  using processes = await startProcesses({ burst: 6, perSecond: 0.1 });
  const one = processes.start();
  one.giveBack("a");
  assert.equal(await processes.count(one, 9), 6);
  one.giveBack("a");
  assert.equal(await processes.count(one, 9), 1);
});
