import assert from "node:assert/strict";
import { KvClosedError } from "../../../src/core/kv/kv_error.ts";
import { packKey } from "../../../src/core/kv/memory_key.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { FakeTime } from "../../kit/fake_time.ts";

Deno.test("memoryKv() is closed where its scope ends, unless it was before", async () => {
  let kept: Deno.Kv;
  {
    using kv = memoryKv();
    kept = kv;
  }
  await assert.rejects(kept.get(["a"]), KvClosedError);
  using closed = memoryKv();
  closed.close();
  assert.throws(() => closed.close(), KvClosedError);
});

Deno.test("memoryKv() forgets what has expired", async () => {
  using time = new FakeTime();
  using kv = memoryKv();
  const { versionstamp } = await kv.set(["a"], 1, { expireIn: 5000 });
  await kv.set(["b"], 2);
  time.tick(4);
  assert.equal((await kv.get(["a"])).value, 1);
  time.tick(1);
  assert.equal((await kv.get(["a"])).value, null);
  assert.equal((await Array.fromAsync(kv.list({ prefix: [] }))).length, 1);
  const stale = await kv.atomic().check({ key: ["a"], versionstamp })
    .set(["a"], 3).commit();
  assert.equal(stale.ok, false);
});

Deno.test("memoryKv() looks at no more rows than are listed", async () => {
  using kv = memoryKv();
  for (let n = 0; n < 3000; n++) await kv.set(["a", n % 7, n], n);
  await kv.delete(["a", 3, 3]);
  let looks = 0;
  const { now } = Date;
  Date.now = () => {
    looks++;
    return now();
  };
  const keys = async (selector: Deno.KvListSelector) =>
    (await Array.fromAsync(kv.list(selector, { limit: 2 })))
      .map(({ key }) => key);
  try {
    assert.deepEqual(await keys({ prefix: ["a", 3] }), [
      ["a", 3, 10],
      ["a", 3, 17],
    ]);
    assert.deepEqual(await keys({ start: ["a", 5, 3000], end: ["b"] }), [
      ["a", 6, 6],
      ["a", 6, 13],
    ]);
  } finally {
    Date.now = now;
  }
  assert(looks <= 4, `it looked at ${looks} rows`);
});

Deno.test("memoryKv() gathers nothing for a watcher that does not read", async () => {
  using kv = memoryKv();
  const reader = kv.watch<[number]>([["a"]]).getReader();
  const read = async () => (await reader.read()).value![0].value;
  assert.equal(await read(), null);
  for (const n of [1, 2, 3, 4]) await kv.set(["a"], n);
  assert.deepEqual([await read(), await read()], [1, 4]);
  await reader.cancel();
});

Deno.test("memoryKv() drops what has expired when it is written to", async () => {
  using time = new FakeTime();
  using kv = memoryKv();
  await kv.set(["a"], 1, { expireIn: 60_000 });
  time.tick(60);
  await kv.set(["b"], 2);
  // An entry that was only hidden would be found at an earlier time.
  time.tick(-1);
  assert.equal((await kv.get(["a"])).value, null);
});

Deno.test("memoryKv() takes a value that is gone at once, and refuses one that was never there", async () => {
  using kv = memoryKv();
  await kv.set(["a"], 1, { expireIn: 0 });
  assert.equal((await kv.get(["a"])).value, null);
  await assert.rejects(async () => await kv.set(["a"], 1, { expireIn: -1 }));
});

Deno.test("packKey() takes 2,048 bytes, and no bigint", () => {
  // A part has one byte before it and one after it.
  assert.equal(packKey(["x".repeat(2046)]).length, 2048);
  assert.throws(() => packKey(["x".repeat(2047)]), /Key too large/);
  assert.throws(() => packKey([1n]), /A bigint cannot be part of a key/);
});
