import assert from "node:assert/strict";
import { Buckets } from "../../src/http/buckets.ts";

const NOW = 1_800_000_000_000;

/** Counts the tokens that can be taken; no bucket here has 100. */
function takeAll(buckets: Buckets, name: string, time: number): number {
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

Deno.test("isFull() is so where nothing is missing, known or not", () => {
  const buckets = new Buckets({ burst: 8, perSecond: 2 });
  assert(buckets.isFull("a", NOW));
  buckets.take("a", NOW);
  assert(!buckets.isFull("a", NOW + 499));
  assert(buckets.isFull("a", NOW + 500));
});

Deno.test("a clock that is set back empties no bucket", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  assert.equal(buckets.take("a", NOW + 3_600_000), 0);
  assert.equal(takeAll(buckets, "a", NOW), 5);
  assert.equal(buckets.take("a", NOW), 1000);
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
  // The time at which buckets with one token taken are full again.
  const time = NOW + 1000;
  buckets.take("newcomer", time);
  assert.equal(buckets.size, 5001);
  assert.equal(takeAll(buckets, "0", time), 1);
});

Deno.test("Buckets forget a tenth, the oldest, where none is full", () => {
  const buckets = new Buckets({ burst: 5, perSecond: 1 });
  for (let n = 0; n <= 10_000; n++) takeAll(buckets, `${n}`, NOW);
  assert.equal(buckets.size, 9000);
  assert.equal(takeAll(buckets, "9999", NOW), 0);
  assert.equal(takeAll(buckets, "1001", NOW), 0);
  assert.equal(takeAll(buckets, "0", NOW), 5);
});
