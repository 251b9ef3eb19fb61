import assert from "node:assert/strict";
import {
  Atomic,
  keyHash,
  type PackedCommit,
  printVersion,
} from "../../packages/postgres/atomic.ts";
import {
  binaryArray,
  bool,
  int8,
} from "../../packages/postgres/binary_array.ts";
import { packBytes } from "../../packages/postgres/packed_key.ts";
import type { KvAtomic, KvKey } from "../../src/core/kv/kv.ts";

/** Returns what a commit sends; changes of keys under `a` are announced. */
async function packed(
  fill: (operation: KvAtomic) => unknown,
): Promise<PackedCommit> {
  let sent: PackedCommit | undefined;
  const operation = new Atomic((commit) => {
    sent = commit;
    return Promise.resolve({ ok: false });
  }, ([kind]) => kind === "a");
  fill(operation);
  await operation.commit();
  return sent!;
}

const hashed = (key: KvKey) => keyHash(packBytes(key));

Deno.test("commit() sends -1, which no record has, for a version that is none of Postgres", async () => {
  const ours = printVersion("255");
  assert.equal(ours, "00000000000000ff");
  const others = [
    "ff",
    "00000000000000ff0000", // of Deno KV
    "80000000000000ff",
    "not hexadecimal!",
    "x0000000000000ff",
    "00000000000000fx",
  ];
  const { values } = await packed((operation) => {
    for (const versionstamp of [ours, null, ...others]) {
      operation.check({ key: ["a"], versionstamp });
    }
  });
  const expected = [int8(255n), null, ...others.map(() => int8(-1n))];
  assert.deepEqual(values[3], binaryArray("int8", expected));
});

Deno.test("commit() sends a lifetime of up to a hundred years, and none for a longer one", async () => {
  const century = 100 * 365 * 86_400_000;
  const lifetimes = [0.5, century, century + 1, undefined];
  const { values } = await packed((operation) => {
    for (const expireIn of lifetimes) operation.set(["a"], 1, { expireIn });
  });
  const expected = [int8(1n), int8(BigInt(century)), null, null];
  assert.deepEqual(values[6], binaryArray("int8", expected));
});

Deno.test("commit() announces what it writes of the keys that are announced, and nothing else", async () => {
  const { announced, values } = await packed((operation) =>
    operation.check({ key: ["a", 1], versionstamp: null })
      .set(["a", 2], 1).set(["b"], 1).delete(["a", 3])
  );
  const hashes = [["a", 2], ["a", 3]].map((key) => String(hashed(key)));
  assert.deepEqual([...announced], hashes);
  const texts = hashes.map((hash) => new TextEncoder().encode(hash));
  assert.deepEqual(values[7], binaryArray("text", texts));
});

Deno.test("commit() locks each key once, in the order of hashes, and shares a lock unless it writes", async () => {
  const keys: KvKey[] = Array.from({ length: 9 }, (_, n) => ["b", n]);
  const { values } = await packed((operation) => {
    for (const key of keys) operation.check({ key, versionstamp: null });
    for (const key of keys.slice(0, 4)) operation.set(key, 1);
  });
  const sorted = keys.map((key, index) => ({ hash: hashed(key), index }))
    .sort((a, b) => Number(a.hash - b.hash));
  const hashes = sorted.map(({ hash }) => int8(hash));
  assert.deepEqual(values[0], binaryArray("int8", hashes));
  const writes = sorted.map(({ index }) => bool(index < 4));
  assert.deepEqual(values[1], binaryArray("bool", writes));
});
