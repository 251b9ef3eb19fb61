import assert from "node:assert/strict";
import { Buckets } from "../../src/http/buckets.ts";

const NOW = 1_800_000_000_000;

function takeAll(buckets: Buckets, name: string, time: number): number {
  let count = 0;
  while (buckets.take(name, time) === 0) count++;
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

Deno.test("drain() empties a bucket and leaves no debt", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 2 });
  buckets.drain("a", 1_000_000, NOW);
  assert.equal(buckets.take("a", NOW), 500);
  assert.equal(takeAll(buckets, "a", NOW + 1000), 2);
});

Deno.test("busy() counts what was taken since a bucket was full", () => {
  const buckets = new Buckets({ burst: 8, perSecond: 2 });
  assert.equal(buckets.take("a", NOW), 0);
  assert.deepEqual(buckets.busy(NOW, 10, 0.25), {});
  takeAll(buckets, "a", NOW + 60_000);
  assert.equal(buckets.take("b", NOW + 60_000), 0);
  assert.deepEqual(buckets.busy(NOW + 60_000, 10, 0.25), { a: 8 });
  takeAll(buckets, "b", NOW + 60_000);
  assert.equal(Object.keys(buckets.busy(NOW + 60_000, 1, 0.25)).length, 1);
});

Deno.test("a clock that is set back empties no bucket", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  assert.equal(buckets.take("a", NOW + 3_600_000), 0);
  assert.equal(takeAll(buckets, "a", NOW), 5);
  assert.equal(buckets.take("a", NOW), 1000);
});

Deno.test("Buckets remember a bounded number, and the busiest of late among them", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  for (let n = 0; n < 50_000; n++) buckets.take(`${n}`, NOW);
  assert(buckets.size <= 10_000);
  assert.equal(takeAll(buckets, "49999", NOW), 4);
});
