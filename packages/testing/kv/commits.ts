/**
 * The requirements for commits: their checks, writes, versions and limits.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Kv, KvCheck, KvKey } from "../../../src/core/kv/kv.ts";
import { KvUsageError } from "../../../src/core/kv/kv_error.ts";
import {
  commit,
  type KvPromise,
  pause,
  read,
  refused,
  write,
} from "./promise.ts";

const absent = (key: KvKey): KvCheck => ({ key, versionstamp: null });

/**
 * The maximum number of tries of one change. Of forty commits at once, one
 * succeeds each time.
 */
const MAX_TRIES = 1000;

/** Adds one to a number. Tries again if another commit was faster. */
async function addOne(kv: Kv, key: KvKey): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const entry = await kv.get(key);
    const next = Number(entry.value ?? 0) + 1;
    const { ok } = await commit(() => kv.atomic().check(entry).set(key, next));
    if (ok) return;
  }
  assert.fail("no check ever held of what was just read");
}

/** The requirements for `atomic()`. */
export const COMMITS: readonly KvPromise[] = [
  {
    name: "commit() writes all or, when a check fails, nothing",
    async check({ kv, other }) {
      const versionstamp = await write(kv, ["a"], 1);
      await write(kv, ["c"], 1);
      for (const stale of [absent(["a"]), { key: ["b"], versionstamp }]) {
        const answer = await commit(() =>
          other.atomic().check(stale).set(["a"], 2).set(["b"], 2).delete(["c"])
        );
        assert.deepEqual(answer, { ok: false });
      }
      assert.deepEqual(
        await Promise.all(["a", "b", "c"].map((part) => read(kv, [part]))),
        [1, null, 1],
      );
      const fresh = await commit(() =>
        other.atomic().check({ key: ["a"], versionstamp }, absent(["b"]))
          .delete(["a"]).set(["b"], 2).set(["c"], 2)
      );
      assert(fresh.ok);
      const [a, b, c] = await kv.getMany([["a"], ["b"], ["c"]]);
      assert.equal(a.value, null);
      assert.equal(b.versionstamp, fresh.versionstamp);
      assert.equal(c.versionstamp, fresh.versionstamp);
    },
  },
  {
    name: "commit() checks the absence of keys that it does not write",
    async check({ kv, other }) {
      await write(kv, ["fence"], 1);
      const answer = await commit(() =>
        other.atomic().check(absent(["fence"])).set(["a"], 1)
      );
      assert.deepEqual(answer, { ok: false });
      assert.equal(await read(kv, ["a"]), null);
    },
  },
  {
    name: "commit() lets one of fifty at once through, and tells that one so",
    async check({ kv, other }) {
      for (let round = 0; round < 4; round++) {
        const key = ["a", round];
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, n) => {
            const handle = n % 2 ? kv : other;
            return commit(() => handle.atomic().check(absent(key)).set(key, n));
          }),
        );
        const winners = answers.flatMap(({ ok }, n) => ok ? [n] : []);
        assert.deepEqual(winners, [await read(kv, key)]);
      }
    },
  },
  {
    name: "commit() loses no change of those that read first and check",
    async check({ kv, other }) {
      await Promise.all(Array.from({ length: 8 }, async (_, n) => {
        for (let i = 0; i < 5; i++) await addOne(n % 2 ? kv : other, ["a"]);
      }));
      assert.equal(await read(kv, ["a"]), 40);
    },
  },
  {
    name:
      "commit() lets one of two through that each check the other's absence",
    async check({ kv, other }) {
      for (let round = 0; round < 40; round++) {
        const [left, right] = [["left", round], ["right", round]];
        const answers = await Promise.all([
          commit(() => kv.atomic().check(absent(left)).set(right, 1)),
          commit(() => other.atomic().check(absent(right)).set(left, 1)),
        ]);
        assert.equal(answers.filter(({ ok }) => ok).length, 1);
      }
    },
  },
  {
    name: "commit() lets the last write of a key win",
    async check({ kv }) {
      await commit(() =>
        kv.atomic().set(["a"], 1, { expireIn: 1 }).set(["a"], 2)
          .set(["b"], 1).delete(["b"])
          .delete(["c"]).set(["c"], 3)
      );
      const entries = await kv.getMany([["a"], ["b"], ["c"]]);
      assert.deepEqual(entries.map(({ value }) => value), [2, null, 3]);
    },
  },
  {
    name: "commit() never uses a version twice, also of a deleted record",
    async check({ kv, other }) {
      const versions = new Set<string>();
      for (let n = 0; n < 20; n++) {
        const first = await write(kv, ["a"], n);
        await commit(() => kv.atomic().delete(["a"]));
        const second = await write(other, ["a"], n);
        versions.add(first).add(second);
        const answer = await commit(() =>
          kv.atomic().check({ key: ["a"], versionstamp: first }).set(["a"], -1)
        );
        assert.equal(answer.ok, false, "a version of a deleted record holds");
        await commit(() => other.atomic().delete(["a"]));
      }
      assert.equal(versions.size, 40);
    },
  },
  {
    name:
      "an expired record is there for reads and checks alike, or for neither",
    async check({ kv, other }) {
      await write(kv, ["a"], 1, { expireIn: 1 });
      await pause(50);
      // The expired record may be deleted in between, but not each time.
      for (let tries = 0; tries < 3; tries++) {
        const entry = await other.get(["a"]);
        const answer = await commit(() =>
          kv.atomic().check(entry).set(["a"], 2)
        );
        if (answer.ok) return;
      }
      assert.fail("a check did not hold of what was read");
    },
  },
  {
    name: "a record is kept until its end, and for ever without one",
    async check({ kv }) {
      await write(kv, ["a"], 1, { expireIn: 60_000 });
      await write(kv, ["b"], 1, { expireIn: 1 });
      await write(kv, ["b"], 2);
      await pause(50);
      const entries = await kv.getMany([["a"], ["b"]]);
      assert.deepEqual(entries.map(({ value }) => value), [1, 2]);
    },
  },
  {
    name: "commit() takes ten checks and 1,000 writes, and no more writes",
    async check({ kv }) {
      const send = (writes: number) => {
        const operation = kv.atomic();
        for (let n = 0; n < 10; n++) operation.check(absent(["none", n]));
        for (let n = 0; n < writes; n++) operation.set(["a", n], n);
        return operation;
      };
      assert((await commit(() => send(1000))).ok);
      const listed = await Array.fromAsync(kv.list({ prefix: ["a"] }));
      assert.deepEqual(
        listed.map(({ value }) => value),
        Array.from({ length: 1000 }, (_, n) => n),
      );
      await refused(() => send(1001).commit(), KvUsageError);
      await write(kv, ["none", 9], 1);
      assert.equal((await commit(() => send(1))).ok, false);
    },
  },
  {
    name: "commit() refuses what is too large, and then writes nothing",
    async check({ kv }) {
      const fits = "x".repeat(65_530);
      await write(kv, ["a"], fits);
      // set() must not throw, because then a store would have to expect errors
      // in two places.
      const large = kv.atomic().set(["b"], 1).set(["a"], `${fits}x`);
      await refused(() => large.commit(), KvUsageError);
      const negative = async () =>
        await kv.atomic().set(["b"], 1, { expireIn: -5 }).commit();
      await refused(negative, KvUsageError);
      const long = ["x".repeat(2100)];
      const keyed = async () =>
        await kv.atomic().set(["b"], 1).set(long, 1).commit();
      await refused(keyed, KvUsageError);
      const uncloned = async () =>
        await kv.atomic().set(["b"], 1).set(["a"], () => {}).commit();
      await refused(uncloned, KvUsageError);
      assert.equal(await read(kv, ["a"]), fits);
      assert.equal(await read(kv, ["b"]), null);
      await write(kv, ["x".repeat(2046)], 1);
    },
  },
];
