/**
 * A database on which another process is faster.
 *
 * @module
 */
import { atomicWith, kvWith } from "./kv.ts";

/** Makes a handle like `kv`; `first` happens before its first commit. */
export function overtaken(kv: Deno.Kv, first: () => Promise<unknown>): Deno.Kv {
  let isOver = false;
  return kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      if (!isOver) {
        isOver = true;
        await first();
      }
      return await commit();
    }),
  });
}

/**
 * Makes a handle like `kv` on which another process is faster before every
 * commit.
 */
export function losing(kv: Deno.Kv): { kv: Deno.Kv; commits: number } {
  const place = { kv, commits: 0 };
  place.kv = kvWith(kv, {
    atomic: atomicWith(kv, () => {
      place.commits++;
      return Promise.resolve({ ok: false });
    }),
  });
  return place;
}
