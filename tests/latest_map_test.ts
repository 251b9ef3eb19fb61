import assert from "node:assert/strict";
import { LatestMap } from "../src/core/cache.ts";
import { FakeTime } from "./kit/fake_time.ts";

/** The names that a map still has, of all that were set. */
function namesIn(map: LatestMap<number>, names: string): string {
  return [...names].filter((name) => map.get(name) !== undefined).join("");
}

Deno.test("LatestMap keeps the names that were set last", () => {
  const map = new LatestMap<number>(3);
  for (const name of "abcad") map.set(name, 1);
  assert.equal(namesIn(map, "abcd"), "acd");
  assert.equal(map.size, 3);
});

Deno.test("LatestMap keeps ten thousand, if nothing else is said", () => {
  const map = new LatestMap<number>();
  for (let n = 0; n <= 10_000; n++) map.set(`${n}`, n);
  assert.equal(map.size, 10_000);
  assert.equal(map.get("0"), undefined);
  assert.equal(map.get("1"), 1);
});

Deno.test("LatestMap gives a value for its time, which no clock changes", () => {
  using time = new FakeTime();
  const map = new LatestMap<number>();
  map.set("a", 1, 1000);
  time.tick(0.999);
  time.set(3600);
  assert.equal(map.get("a"), 1);
  time.tick(0.001);
  assert.equal(map.get("a"), undefined);
});

Deno.test("LatestMap drops the oldest that are over when another is set", () => {
  using time = new FakeTime();
  const map = new LatestMap<number>();
  for (const name of "abc") map.set(name, 1, name === "c" ? 5000 : 1000);
  time.tick(2);
  assert.deepEqual(map.values(), [1]);
  map.set("d", 1);
  assert.equal(map.size, 2);
  assert.equal(namesIn(map, "abcd"), "cd");
});

Deno.test("LatestMap gives a name that was set again its new time", () => {
  using time = new FakeTime();
  const map = new LatestMap<number>();
  map.set("a", 1, 1000);
  map.set("a", 2, 3000);
  time.tick(2);
  assert.equal(map.get("a"), 2);
  map.delete("a");
  assert.equal(map.get("a"), undefined);
});
