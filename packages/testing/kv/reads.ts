/**
 * The requirements for reads and lists.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Kv, KvKey, KvSelector } from "../../../src/core/kv/kv.ts";
import { KvUsageError } from "../../../src/core/kv/kv_error.ts";
import { commit, type KvPromise, read, refused, write } from "./promise.ts";

/** A value with everything that JSON would change or lose. */
const VALUE = {
  text: "é€😀\0",
  bytes: new Uint8Array([0, 255]),
  list: [1n, undefined, new Date(0), new Map([[1, { a: null }]]), new Set([2])],
  none: undefined,
  numbers: [-0, NaN, Infinity, 1e308],
};

/** The keys beneath ["o"], in their order. */
const ORDERED: readonly KvKey[] = [
  ["o", new Uint8Array([1])],
  ["o", ""],
  ["o", "\0"],
  ["o", "a"],
  ["o", "a", "b"],
  ["o", "a\0b"],
  ["o", "aa"],
  ["o", "é"],
  ["o", "\u{ffff}"],
  ["o", "😀"],
  ["o", "\u{10ffff}"],
  ["o", -Infinity],
  ["o", -2.5],
  ["o", -1],
  ["o", 0],
  ["o", 1],
  ["o", 10],
  ["o", 1e308],
  ["o", Infinity],
  ["o", false],
  ["o", true],
];

/** Keys that are close to {@linkcode ORDERED}, but not beneath ["o"]. */
const BESIDE: readonly KvKey[] = [
  ["o"],
  ["n", "z"],
  ["oo", "a"],
  ["o\0", "a"],
  ["p"],
];

async function keysOf(
  kv: Kv,
  selector: KvSelector,
  options?: Parameters<Kv["list"]>[1],
): Promise<KvKey[]> {
  const entries = await Array.fromAsync(kv.list(selector, options));
  return entries.map(({ key }) => key);
}

/** Writes all keys of the lists, beginning with the last one. */
async function writeAll(kv: Kv): Promise<void> {
  await commit(() => {
    const operation = kv.atomic();
    for (const key of [...ORDERED, ...BESIDE].toReversed()) {
      operation.set(key, key);
    }
    return operation;
  });
}

/** The requirements for `get`, `getMany` and `list`. */
export const READS: readonly KvPromise[] = [
  {
    name: "get() gives a structured clone of what was written, and its version",
    async check({ kv }) {
      const absent = { key: ["a"], value: null, versionstamp: null };
      assert.deepEqual(await kv.get(["a"]), absent);
      const value = structuredClone(VALUE);
      const versionstamp = await write(kv, ["a"], value);
      value.list.length = 0;
      const entry = await kv.get(["a"]);
      assert.deepEqual(entry, { key: ["a"], value: VALUE, versionstamp });
      (entry.value as typeof VALUE).list.length = 0;
      assert.deepEqual(await read(kv, ["a"]), VALUE);
      await commit(() => kv.atomic().delete(["a"]));
      assert.deepEqual(await kv.get(["a"]), absent);
    },
  },
  {
    name: "get() sees every acknowledged commit of another process",
    async check({ kv, other }) {
      for (let n = 0; n < 50; n++) {
        const [writer, reader] = n % 2 ? [kv, other] : [other, kv];
        const versionstamp = await write(writer, ["a"], n);
        const entry = await reader.get(["a"]);
        assert.deepEqual(entry, { key: ["a"], value: n, versionstamp });
      }
    },
  },
  {
    name: "getMany() takes ten keys, gives them in their order, repeated too",
    async check({ kv }) {
      await write(kv, ["b"], 2);
      const entries = await kv.getMany([["b"], ["a"], ["b"]]);
      assert.deepEqual(entries.map(({ key }) => key), [["b"], ["a"], ["b"]]);
      assert.deepEqual(entries.map(({ value }) => value), [2, null, 2]);
      assert.deepEqual(await kv.getMany([]), []);
      const keys = Array.from({ length: 11 }, (_, n) => [n]);
      assert.equal((await kv.getMany(keys.slice(1))).length, 10);
      await refused(async () => await kv.getMany(keys), KvUsageError);
    },
  },
  {
    name: "getMany() reads one snapshot",
    async check({ kv, other }) {
      const writing = (async () => {
        for (let n = 0; n < 60; n++) {
          await commit(() => kv.atomic().set(["a"], n).set(["z"], n));
        }
      })();
      const reading = (async () => {
        for (let n = 0; n < 120; n++) {
          const [a, z] = await other.getMany([["a"], ["z"]]);
          assert.equal(a.versionstamp, z.versionstamp);
        }
      })();
      await Promise.all([writing, reading]);
    },
  },
  {
    name: "list() gives what is beneath a prefix, in the order of keys",
    async check({ kv, other }) {
      await writeAll(kv);
      assert.deepEqual(await keysOf(other, { prefix: ["o"] }), ORDERED);
      assert.deepEqual(await keysOf(kv, { prefix: ["o", "a"] }), [
        ["o", "a", "b"],
      ]);
      assert.deepEqual(await keysOf(kv, { prefix: ["none"] }), []);
      const [first] = await Array.fromAsync(kv.list({ prefix: ["o"] }));
      assert.deepEqual(first, await kv.get(ORDERED[0]));
    },
  },
  {
    name: "list() gives a range from its start on and before its end",
    async check({ kv }) {
      await writeAll(kv);
      const ranges: [start: KvKey, end: KvKey, from: number, to: number][] = [
        [["o", "a"], ["o", "é"], 3, 7],
        [["o", "\0"], ["o", "\u{10ffff}"], 2, 10],
        [["o", "a", Infinity], ["o", -1], 5, 13],
        [["o", 0], ["o", Infinity], 14, 18],
        [["o", Infinity], ["o", true], 18, 20],
      ];
      for (const [start, end, from, to] of ranges) {
        const keys = await keysOf(kv, { start, end });
        assert.deepEqual(keys, ORDERED.slice(from, to));
      }
    },
  },
  {
    name: "list() gives no more than its limit, and all in whatever batches",
    async check({ kv }) {
      await writeAll(kv);
      for (const batchSize of [1, 2, 7, 500]) {
        const selector = { prefix: ["o"] };
        assert.deepEqual(await keysOf(kv, selector, { batchSize }), ORDERED);
        assert.deepEqual(
          await keysOf(kv, selector, { batchSize, limit: 3 }),
          ORDERED.slice(0, 3),
        );
      }
    },
  },
];
