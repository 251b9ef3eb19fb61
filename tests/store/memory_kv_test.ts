/**
 * The behaviour that the stores rely on, checked with Deno's database and with
 * the one in memory that replaces it.
 *
 * @module
 */
import assert from "node:assert/strict";
import { packKey } from "../../src/store/memory_key.ts";
import { memoryKv } from "../../src/store/memory_kv.ts";
import { FakeTime } from "../kit/fake_time.ts";

const DATABASES: Record<string, () => Deno.Kv | Promise<Deno.Kv>> = {
  "Deno.openKv()": () => Deno.openKv(":memory:"),
  "memoryKv()": memoryKv,
};

/** Checks a promise of both databases. */
function both(promise: string, check: (kv: Deno.Kv) => Promise<void>): void {
  for (const [name, open] of Object.entries(DATABASES)) {
    Deno.test(`${name} ${promise}`, async () => {
      using kv = await open();
      await check(kv);
    });
  }
}

const ABSENT = { key: ["a"], value: null, versionstamp: null };

both("gives back what was set, and null for what was not", async (kv) => {
  assert.deepEqual(await kv.get(["a"]), ABSENT);
  const value = {
    text: "é€😀",
    bytes: new Uint8Array([0, 255]),
    list: [1n, undefined, new Date(0), new Map([[1, { a: null }]])],
  };
  const { versionstamp } = await kv.set(["a"], value);
  assert.deepEqual(await kv.get(["a"]), { key: ["a"], value, versionstamp });
  await kv.delete(["a"]);
  assert.deepEqual(await kv.get(["a"]), ABSENT);
});

both("shares no object with its readers and writers", async (kv) => {
  const value = { list: [1] };
  await kv.set(["a"], value);
  value.list.push(2);
  const read = (await kv.get<typeof value>(["a"])).value!;
  assert.deepEqual(read, { list: [1] });
  read.list.push(3);
  assert.deepEqual((await kv.get(["a"])).value, { list: [1] });
});

both("answers getMany() in the order it was asked", async (kv) => {
  await kv.set(["b"], 2);
  const entries = await kv.getMany([["a"], ["b"], ["a"]]);
  assert.deepEqual(entries.map(({ value }) => value), [null, 2, null]);
});

both("gives every commit a greater versionstamp", async (kv) => {
  const stamps: string[] = [];
  for (let i = 0; i < 20; i++) {
    stamps.push((await kv.set(["a"], i)).versionstamp);
  }
  for (const stamp of stamps) assert.match(stamp, /^[0-9a-f]{20}$/);
  assert.deepEqual(stamps, [...new Set(stamps)].sort());
});

both("commits all or, when a check fails, nothing", async (kv) => {
  const { versionstamp } = await kv.set(["a"], 1);
  const stale = await kv.atomic().check({ key: ["a"], versionstamp: null })
    .set(["a"], 2).set(["b"], 2).commit();
  assert.deepEqual(stale, { ok: false });
  assert.equal((await kv.get(["b"])).value, null);
  const fresh = await kv.atomic().check({ key: ["a"], versionstamp })
    .check({ key: ["b"], versionstamp: null })
    .delete(["a"]).set(["b"], 2).commit();
  assert(fresh.ok);
  const [a, b] = await kv.getMany([["a"], ["b"]]);
  assert.equal(a.value, null);
  assert.equal(b.versionstamp, fresh.versionstamp);
});

both("lets one of fifty simultaneous check-and-sets through", async (kv) => {
  const attempts = Array.from(
    { length: 50 },
    (_, i) =>
      kv.atomic().check({ key: ["a"], versionstamp: null }).set(["a"], i)
        .commit(),
  );
  const results = await Promise.all(attempts);
  assert.equal(results.filter(({ ok }) => ok).length, 1);
});

both("refuses a value over 64 KiB and keeps the old one", async (kv) => {
  const fits = "x".repeat(65_530);
  await kv.set(["a"], fits);
  await assert.rejects(kv.set(["a"], fits + "x"), TypeError);
  await assert.rejects(
    kv.atomic().set(["b"], 1).set(["a"], fits + "x").commit(),
    /Value too large/,
  );
  assert.equal((await kv.get(["a"])).value, fits);
  assert.equal((await kv.get(["b"])).value, null);
});

both("refuses what no database can keep", async (kv) => {
  // Throwing and rejecting are both fine.
  const set = async (...args: Parameters<Deno.Kv["set"]>) =>
    await kv.set(...args);
  await assert.rejects(set(["a"], () => {}));
  await assert.rejects(set(["x".repeat(2100)], 1), /Key too large/);
  await assert.rejects(set(["a"], 1, { expireIn: -5 }), TypeError);
});

both("takes ten keys at once, and no more", async (kv) => {
  const keys = Array.from({ length: 11 }, (_, i) => [i]);
  assert.equal((await kv.getMany(keys.slice(1))).length, 10);
  await assert.rejects(async () => await kv.getMany(keys), /Too many/);
  const watch = async (keys: Deno.KvKey[]) =>
    await kv.watch(keys).getReader().cancel();
  await watch(keys.slice(1));
  await assert.rejects(() => watch(keys), /Too many/);
});

both(
  "takes a hundred checks and a thousand writes at once, and no more",
  async (kv) => {
    const check = { key: ["a"], versionstamp: null };
    const checks = Array.from({ length: 101 }, () => check);
    const commit = async (checks: Deno.AtomicCheck[], writes: number) => {
      const operation = kv.atomic().check(...checks);
      for (let i = 0; i < writes; i++) operation.delete(["b", i]);
      return await operation.commit();
    };
    assert((await commit(checks.slice(1), 1000)).ok);
    await assert.rejects(() => commit(checks, 1), /Too many/i);
    await assert.rejects(() => commit([], 1001), /Too many/i);
  },
);

both("lists a prefix in the order of keys", async (kv) => {
  const keys = [
    ["o", new Uint8Array([1])],
    ["o", ""],
    ["o", "a"],
    ["o", "a", "b"],
    ["o", "a\0b"],
    ["o", "aa"],
    ["o", "é"],
    ["o", "😀"],
    ["o", -2.5],
    ["o", -1],
    ["o", 0],
    ["o", 1],
    ["o", 10],
    ["o", false],
    ["o", true],
  ];
  const others = [["o"], ["n", "z"], ["oo", "a"], ["o\0", "a"], ["p"]];
  for (const key of [...keys, ...others].toReversed()) await kv.set(key, 1);
  const list = async (prefix: Deno.KvKey, options?: Deno.KvListOptions) => {
    const entries = await Array.fromAsync(kv.list({ prefix }, options));
    return entries.map(({ key }) => key);
  };
  assert.deepEqual(await list(["o"]), keys);
  assert.deepEqual(await list(["o", "a"]), [["o", "a", "b"]]);
  assert.deepEqual(await list(["o"], { limit: 2, reverse: true }), [
    ["o", true],
    ["o", false],
  ]);
  assert.deepEqual(await list(["none"]), []);
});

both("shows a watcher the present, then the newest change", async (kv) => {
  const reader = kv.watch<[number, number]>([["a"], ["b"]]).getReader();
  const read = async () =>
    (await reader.read()).value?.map(({ value }) => value);
  assert.deepEqual(await read(), [null, null]);
  await kv.set(["a"], 1);
  assert.deepEqual(await read(), [1, null]);
  const waiting = read();
  await kv.set(["c"], 3);
  await kv.set(["b"], 2);
  assert.deepEqual(await waiting, [1, 2]);
  await reader.cancel();
});

for (const [name, open] of Object.entries(DATABASES)) {
  Deno.test(`${name} is closed where its scope ends, unless it was before`, async () => {
    let kept: Deno.Kv;
    {
      using kv = await open();
      kept = kv;
    }
    await assert.rejects(async () => await kept.get(["a"]), {
      name: "BadResource",
    });
    using closed = await open();
    closed.close();
  });

  Deno.test(`${name} ends its watchers and refuses work once closed`, async () => {
    const kv = await open();
    const reader = kv.watch([["a"]]).getReader();
    await reader.read();
    const waiting = reader.read();
    kv.close();
    assert.equal((await waiting).done, true);
    for (
      const operation of [
        async () => await kv.get(["a"]),
        async () => await kv.getMany([["a"]]),
        async () => await kv.set(["a"], 1),
        async () => await kv.delete(["a"]),
        async () => await Array.fromAsync(kv.list({ prefix: [] })),
        async () => await kv.watch([["a"]]).getReader().read(),
        // deno-lint-ignore require-await -- a throw must become a rejection
        async () => kv.close(),
      ]
    ) {
      await assert.rejects(operation, { name: "BadResource" });
    }
  });
}

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
