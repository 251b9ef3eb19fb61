import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { taskLeaseKey } from "../../../src/core/kv/keys.ts";
import {
  LEASE_SECONDS,
  setLease,
  type TaskLease,
  WatchedLeases,
  WatchedTaskLeases,
} from "../../../src/core/kv/leases.ts";
import { countedOn, test } from "../../kit/databases.ts";
import { FakeTime, SteadyTime } from "../../kit/fake_time.ts";
import { overtaken } from "../../kit/overtaken_kv.ts";

const database = { answersForMilliseconds: Infinity };

Deno.test("hasLapsed() waits for a renewal, anew after each", () => {
  using time = new SteadyTime();
  const leases = new WatchedLeases(database, 10_000);
  assert.equal(leases.hasLapsed("t", "1"), false);
  time.tick(10);
  assert.equal(leases.hasLapsed("t", "2"), false);
  time.tick(9);
  assert.equal(leases.hasLapsed("t", "2"), false);
  time.tick(1);
  assert.equal(leases.hasLapsed("t", "2"), true);
  leases.forget("t");
  assert.equal(leases.isWatched("t"), false);
  assert.equal(leases.hasLapsed("t", "2"), false);
});

Deno.test("hasLapsed() counts no time in which the database was away", () => {
  using time = new SteadyTime();
  const away = { answersForMilliseconds: Infinity };
  const leases = new WatchedLeases(away, 10_000);
  leases.hasLapsed("t", "1");
  time.tick(10);
  away.answersForMilliseconds = 10_000;
  assert.equal(leases.hasLapsed("t", "1"), false);
  time.tick(10);
  away.answersForMilliseconds = 20_000;
  assert.equal(leases.hasLapsed("t", "1"), true);
});

Deno.test("hasLapsed() looks at 10,000 leases, and lets the oldest go", () => {
  const leases = new WatchedLeases(database, 10_000);
  for (let id = 0; id < 10_000; id++) leases.hasLapsed(`${id}`, "1");
  leases.hasLapsed("0", "2");
  assert.equal(leases.isWatched("1"), true);
  leases.hasLapsed("another", "1");
  assert.deepEqual(
    ["0", "1", "2"].map((id) => leases.isWatched(id)),
    [true, false, true],
  );
});

/** Watches the lease of task `t` each second. */
async function watchFor(
  time: FakeTime,
  database: Database,
  seconds: number,
): Promise<boolean> {
  const leases = new WatchedTaskLeases(database, 14);
  for (let second = 0; second < seconds; second++) {
    const lease = await database.get<TaskLease>(taskLeaseKey("t"));
    if (await leases.watch("t", lease)) return true;
    time.tick(1);
  }
  return false;
}

async function renew(kv: Deno.Kv): Promise<void> {
  const database = new Database(kv);
  await database.commit((to) => setLease(to, "t", database.now()));
}

test.inMemory("watch() adds up for how long processes have watched a lease, with few commits", async ({ kv }) => {
  using time = new FakeTime();
  await renew(kv);
  time.tick(LEASE_SECONDS);
  for (let life = 1; life <= 2; life++) {
    const { place, database } = countedOn(kv);
    assert.equal(await watchFor(time, database, 8), false);
    assert.equal(place.commits, 1);
  }
  assert.equal(await watchFor(time, new Database(kv), 8), true);
});

test.inMemory("watch() writes nothing into a lease that is held, or renewed at that moment", async ({ kv }) => {
  using time = new FakeTime();
  await renew(kv);
  const { place, database } = countedOn(kv);
  assert.equal(await watchFor(time, database, 8), false);
  assert.equal(place.commits, 0);
  time.tick(LEASE_SECONDS);
  const slow = new Database(overtaken(kv, () => renew(kv)));
  assert.equal(await watchFor(time, slow, 8), false);
  const { value } = await kv.get<TaskLease>(taskLeaseKey("t"));
  assert.equal(value?.watchedMilliseconds, undefined);
});
