/**
 * The requirement behind the fence: the record on whose absence a process's
 * commits depend.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Kv, KvEntryMaybe, KvKey } from "../../../src/core/kv/kv.ts";
import { commit, type KvPromise, write } from "./promise.ts";

const ROUNDS = 24;
/** The commits of a round, each of which waits for those before it. */
const COMMITS_AT_ONCE = 20;
/** The maximum number of keys of one `getMany`. */
const MAX_KEYS_PER_READ = 10;

async function readAll(
  kv: Kv,
  keys: readonly KvKey[],
): Promise<KvEntryMaybe[]> {
  const reads = [];
  for (let start = 0; start < keys.length; start += MAX_KEYS_PER_READ) {
    reads.push(kv.getMany(keys.slice(start, start + MAX_KEYS_PER_READ)));
  }
  return (await Promise.all(reads)).flat();
}

/** The race between a fence and commits that wait for one another. */
export const FENCE: KvPromise = {
  name: "no commit is carried out after the acknowledged write of a key " +
    "whose absence it checks",
  async check({ kv, other }) {
    for (let round = 0; round < ROUNDS; round++) {
      const fence = { key: ["fence", round], versionstamp: null };
      const keys = Array.from(
        { length: COMMITS_AT_ONCE },
        (_, n) => ["record", round, n],
      );
      const commits = keys.map((key, n) =>
        commit(() =>
          (n % 2 ? kv : other).atomic().check(fence)
            .set(["hot"], n).set(key, n)
        )
      );
      // In half of the rounds, some commits come before the fence.
      if (round % 2) await Promise.race(commits);
      await write(kv, fence.key, 1);
      const seen = await readAll(kv, keys);
      const answers = await Promise.all(commits);
      const later = await readAll(other, keys);
      assert.deepEqual(later, seen, "a commit was carried out after the fence");
      assert.deepEqual(
        answers.map(({ ok }) => ok),
        seen.map(({ value }) => value !== null),
        "an answer is not what happened",
      );
    }
  },
};
