/**
 * Observes a database's operations for telemetry: the verb, and the first part
 * of the keys, which never comes from outside.
 * @module
 */
import type { Kv, KvAtomic, KvKey } from "./kv.ts";
import { isCollected, telemetry } from "../telemetry/current.ts";

/** Wraps a database, if telemetry is collected. */
export function observedKv(kv: Kv): Kv {
  if (!isCollected()) return kv;
  return {
    isRemote: kv.isRemote,
    checkPlace: kv.checkPlace?.bind(kv),
    get: (key) => observe("get", [key], () => kv.get(key)),
    getMany: (keys) => observe("getMany", keys, () => kv.getMany(keys)),
    list(selector, options) {
      const prefix = "prefix" in selector ? selector.prefix : selector.start;
      const read = () => Array.fromAsync(kv.list(selector, options));
      return iterate(() => observe("list", [prefix], read));
    },
    atomic: () => observedAtomic(kv.atomic()),
    watch: (keys) => kv.watch(keys),
    close: () => kv.close(),
  };
}

async function* iterate<T>(read: () => Promise<T[]>): AsyncGenerator<T> {
  yield* await read();
}

/** Wraps a commit, and remembers its keys until it is sent. */
function observedAtomic(atomic: KvAtomic): KvAtomic {
  const keys: KvKey[] = [];
  const { set, delete: remove, commit } = atomic;
  atomic.set = (key, ...rest) => {
    keys.push(key);
    return set.call(atomic, key, ...rest);
  };
  atomic.delete = (key) => {
    keys.push(key);
    return remove.call(atomic, key);
  };
  atomic.commit = () => observe("commit", keys, () => commit.call(atomic));
  return atomic;
}

function observe<T>(
  verb: string,
  keys: readonly KvKey[],
  operate: () => Promise<T>,
): Promise<T> {
  if (!telemetry) return operate();
  const kind = keys[0]?.[0] as string | undefined;
  return telemetry.databaseOperation(
    { verb, kind, keys: keys.length },
    operate,
  );
}
