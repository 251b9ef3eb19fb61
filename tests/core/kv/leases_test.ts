import assert from "node:assert/strict";
import { WatchedLeases } from "../../../src/core/kv/leases.ts";
import { SteadyTime } from "../../kit/fake_time.ts";

const database = { answersForMilliseconds: Infinity };

function leaseOf(versionstamp: string) {
  return { key: ["task-lease", "t"], value: null, versionstamp } as const;
}

Deno.test("hasLapsed() waits for a renewal, anew after each", () => {
  using time = new SteadyTime();
  const leases = new WatchedLeases(database, 10_000);
  assert.equal(leases.hasLapsed("t", leaseOf("1")), false);
  time.tick(10);
  assert.equal(leases.hasLapsed("t", leaseOf("2")), false);
  time.tick(9);
  assert.equal(leases.hasLapsed("t", leaseOf("2")), false);
  time.tick(1);
  assert.equal(leases.hasLapsed("t", leaseOf("2")), true);
  leases.forget("t");
  assert.equal(leases.isWatched("t"), false);
  assert.equal(leases.hasLapsed("t", leaseOf("2")), false);
});

Deno.test("hasLapsed() counts no time in which the database was away", () => {
  using time = new SteadyTime();
  const away = { answersForMilliseconds: Infinity };
  const leases = new WatchedLeases(away, 10_000);
  leases.hasLapsed("t", leaseOf("1"));
  time.tick(10);
  away.answersForMilliseconds = 10_000;
  assert.equal(leases.hasLapsed("t", leaseOf("1")), false);
  time.tick(10);
  away.answersForMilliseconds = 20_000;
  assert.equal(leases.hasLapsed("t", leaseOf("1")), true);
});

Deno.test("hasLapsed() looks at 10,000 leases, and lets the oldest go", () => {
  const leases = new WatchedLeases(database, 10_000);
  for (let id = 0; id < 10_000; id++) leases.hasLapsed(`${id}`, leaseOf("1"));
  leases.hasLapsed("0", leaseOf("2"));
  assert.equal(leases.isWatched("1"), true);
  leases.hasLapsed("another", leaseOf("1"));
  assert.deepEqual(
    ["0", "1", "2"].map((id) => leases.isWatched(id)),
    [true, false, true],
  );
});
