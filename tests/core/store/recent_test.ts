import assert from "node:assert/strict";
import { recentReads } from "../../../src/core/cache.ts";
import { FakeTime } from "../../kit/fake_time.ts";

/**
 * Makes a read that counts its calls, each of which waits until it is released.
 */
function reads() {
  const waiting: ((value?: string) => void)[] = [];
  const names: string[] = [];
  const read = (name: string) => {
    names.push(name);
    return new Promise<string | undefined>((resolve) => waiting.push(resolve));
  };
  return { names, waiting, read };
}

Deno.test("recentReads() reads a name once a second", async () => {
  using time = new FakeTime();
  let count = 0;
  const { find } = recentReads(() => Promise.resolve(`${++count}`));
  assert.equal(await find("a"), "1");
  assert.equal(find("a"), "1");
  time.tick(0.9);
  assert.equal(find("a"), "1");
  time.tick(0.2);
  assert.equal(await find("a"), "2");
});

Deno.test("recentReads() counts freshness from before the read", async () => {
  using time = new FakeTime();
  const { read, waiting } = reads();
  const { find } = recentReads(read);
  const first = find("a");
  time.tick(0.9);
  waiting[0]("old");
  assert.equal(await first, "old");
  time.tick(0.2);
  const second = find("a");
  waiting[1]("new");
  assert.equal(await second, "new");
});

Deno.test("recentReads() shares one read among simultaneous misses", async () => {
  const { read, waiting, names } = reads();
  const { find } = recentReads(read);
  const found = Array.from({ length: 50 }, () => find("a"));
  waiting[0]("value");
  assert.deepEqual(await Promise.all(found), Array(50).fill("value"));
  assert.deepEqual(names, ["a"]);
});

Deno.test("recentReads() shares no read that began more than a second ago", async () => {
  using time = new FakeTime();
  const { read, waiting } = reads();
  const { find } = recentReads(read);
  const slow = find("a");
  time.tick(1.1);
  const quick = find("a");
  waiting[1]("new");
  assert.equal(await quick, "new");
  waiting[0]("old");
  assert.equal(await slow, "old");
  assert.equal(find("a"), "new");
});

Deno.test("recentReads() does not keep that a name was not found", async () => {
  let count = 0;
  const { find } = recentReads(() =>
    Promise.resolve(++count > 1 ? "b" : undefined)
  );
  assert.equal(await find("a"), undefined);
  assert.equal(await find("a"), "b");
});

Deno.test("readAhead() reads what would be old in half a second, once", async () => {
  using time = new FakeTime();
  const { read, waiting, names } = reads();
  const { find, readAhead } = recentReads(read);
  readAhead("a");
  const first = find("a");
  waiting[0]("old");
  assert.equal(await first, "old");
  time.tick(0.49);
  readAhead("a");
  assert.equal(find("a"), "old");
  time.tick(0.01);
  for (let n = 0; n < 10; n++) readAhead("a");
  const second = find("a");
  waiting[1]("new");
  assert.equal(await second, "new");
  assert.deepEqual(names, ["a", "a"]);
});

Deno.test("readAhead() leaves a failure to who needs the value", async () => {
  let count = 0;
  const { find, readAhead } = recentReads(() =>
    ++count < 3 ? Promise.reject(new Error("no")) : Promise.resolve("b")
  );
  readAhead("a");
  await assert.rejects(async () => await find("a"), /no/);
  readAhead("a");
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(await find("a"), "b");
});

Deno.test("forget() makes the next find() read", async () => {
  let count = 0;
  const { find, forget } = recentReads(() => Promise.resolve(`${++count}`));
  await find("a");
  forget("a");
  assert.equal(await find("a"), "2");
});

Deno.test("forget() during a read keeps nothing of it", async () => {
  const { read, waiting, names } = reads();
  const { find, forget } = recentReads(read);
  const before = find("a");
  forget("a");
  const after = find("a");
  assert.equal(names.length, 2);
  waiting[0]("old");
  assert.equal(await before, "old");
  waiting[1]("new");
  assert.equal(await after, "new");
  assert.equal(find("a"), "new");
});

Deno.test("recentReads() keeps no more than 10,000 names", async () => {
  using _time = new FakeTime();
  const memory = recentReads((name) => Promise.resolve(name));
  for (let n = 0; n < 10_010; n++) await memory.find(`${n}`);
  assert.equal(memory.size, 10_000);
  assert.equal(memory.find("10009"), "10009");
});

Deno.test("recentReads() reads again after a read that failed", async () => {
  let count = 0;
  const { find } = recentReads(() =>
    ++count === 1 ? Promise.reject(new Error("no")) : Promise.resolve("b")
  );
  await assert.rejects(async () => await find("a"), /no/);
  assert.equal(await find("a"), "b");
});

Deno.test("recentReads() keeps no name longer than it is fresh and others come", async () => {
  using time = new FakeTime();
  const names = recentReads((name) => Promise.resolve(name));
  for (let n = 0; n < 100; n++) await names.find(`${n}`);
  assert.equal(names.size, 100);
  time.tick(1);
  await names.find("later");
  assert.equal(names.size, 1);
});

Deno.test("recentReads() keeps nothing longer because the clock is set back", async () => {
  using time = new FakeTime();
  let count = 0;
  const { find } = recentReads(() => Promise.resolve(++count));
  assert.equal(await find("a"), 1);
  time.tick(0.999);
  time.set(-60);
  assert.equal(find("a"), 1);
  time.tick(0.001);
  assert.equal(await find("a"), 2);
});

Deno.test("recentReads() drops what is old, though a name before it was read again", async () => {
  using time = new FakeTime();
  const names = recentReads((name) => Promise.resolve(name));
  await names.find("a");
  await names.find("b");
  time.tick(1);
  await names.find("a");
  assert.equal(names.size, 1);
});
