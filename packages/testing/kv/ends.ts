/**
 * The requirements for watches, and for the end of a handle.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Kv, KvKey } from "../../../src/core/kv/kv.ts";
import { KvClosedError, KvUsageError } from "../../../src/core/kv/kv_error.ts";
import { commit, type KvPromise, refused, write } from "./promise.ts";

/** The maximum time until a change is reported. */
const MAX_NOTICE_MILLISECONDS = 30_000;

/**
 * Watches keys. The returned `until` reads until the keys have the wanted
 * values.
 */
function watching(kv: Kv, keys: readonly KvKey[]) {
  const reader = kv.watch(keys).getReader();
  async function until(...wanted: unknown[]) {
    const { promise: late, reject } = Promise.withResolvers<never>();
    // The timer also keeps the process alive, which a waiting connection may
    // not.
    const timer = setTimeout(
      () => reject(new Error(`${JSON.stringify(wanted)} was not told`)),
      MAX_NOTICE_MILLISECONDS,
    );
    try {
      for (;;) {
        const { done, value } = await Promise.race([reader.read(), late]);
        assert(!done, "the watch has ended");
        const values = value.map(({ value }) => value);
        if (JSON.stringify(values) === JSON.stringify(wanted)) return;
      }
    } finally {
      clearTimeout(timer);
    }
  }
  return { until, reader };
}

/** The requirements for `watch` and `close`. */
export const ENDS: readonly KvPromise[] = [
  {
    name: "watch() gives the present, then the newest after a change",
    async check({ kv, other }) {
      await write(kv, ["a"], 1);
      const keys = [["a"], ["b"]];
      const { until, reader } = watching(kv, keys);
      await until(1, null);
      const changed = until(2, 3);
      await write(kv, ["c"], 1);
      await commit(() => kv.atomic().set(["a"], 2).set(["b"], 3));
      await changed;
      for (let n = 0; n < 20; n++) await write(kv, ["a"], n);
      await until(19, 3);
      if (kv.isRemote) {
        const told = until(19, null);
        await commit(() => other.atomic().delete(["b"]));
        await told;
      }
      await reader.cancel();
    },
  },
  {
    name: "watch() takes ten keys, and no more",
    async check({ kv }) {
      const keys = Array.from({ length: 11 }, (_, n) => ["a", n]);
      const watch = async (keys: KvKey[]) => {
        const { reader } = watching(kv, keys);
        await reader.read();
        await reader.cancel();
      };
      await watch(keys.slice(1));
      await refused(() => watch(keys), KvUsageError);
    },
  },
  {
    name: "close() ends the watches and refuses all later use",
    async check({ kv }) {
      const { reader } = watching(kv, [["a"]]);
      await reader.read();
      const waiting = reader.read();
      kv.close();
      assert.equal((await waiting).done, true);
      for (
        const use of [
          async () => await kv.get(["a"]),
          async () => await kv.getMany([["a"]]),
          async () => await Array.fromAsync(kv.list({ prefix: ["a"] })),
          async () => await kv.atomic().set(["a"], 1).commit(),
          async () => await kv.watch([["a"]]).getReader().read(),
        ]
      ) {
        await refused(use, KvClosedError);
      }
    },
  },
];
