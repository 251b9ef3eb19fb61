import assert from "node:assert/strict";
import { Lapses } from "../../src/store/leases.ts";
import { SteadyTime } from "../kit/fake_time.ts";

const database = { answersForMilliseconds: Infinity };

function leaseOf(versionstamp: string) {
  return { key: ["task-lease", "t"], value: null, versionstamp } as const;
}

Deno.test("isCertain() waits for a renewal, anew after each", () => {
  using time = new SteadyTime();
  const lapses = new Lapses(database, 10_000);
  assert.equal(lapses.isCertain("t", leaseOf("1")), false);
  time.tick(10);
  assert.equal(lapses.isCertain("t", leaseOf("2")), false);
  time.tick(9);
  assert.equal(lapses.isCertain("t", leaseOf("2")), false);
  time.tick(1);
  assert.equal(lapses.isCertain("t", leaseOf("2")), true);
  lapses.forget("t");
  assert.equal(lapses.has("t"), false);
  assert.equal(lapses.isCertain("t", leaseOf("2")), false);
});

Deno.test("isCertain() counts no time in which the database was away", () => {
  using time = new SteadyTime();
  const away = { answersForMilliseconds: Infinity };
  const lapses = new Lapses(away, 10_000);
  lapses.isCertain("t", leaseOf("1"));
  time.tick(10);
  away.answersForMilliseconds = 10_000;
  assert.equal(lapses.isCertain("t", leaseOf("1")), false);
  time.tick(10);
  away.answersForMilliseconds = 20_000;
  assert.equal(lapses.isCertain("t", leaseOf("1")), true);
});

Deno.test("isCertain() looks at 10,000 leases, and lets the oldest go", () => {
  const lapses = new Lapses(database, 10_000);
  for (let id = 0; id < 10_000; id++) lapses.isCertain(`${id}`, leaseOf("1"));
  lapses.isCertain("0", leaseOf("2"));
  assert.equal(lapses.has("1"), true);
  lapses.isCertain("another", leaseOf("1"));
  assert.deepEqual(
    ["0", "1", "2"].map((id) => lapses.has(id)),
    [true, false, true],
  );
});
