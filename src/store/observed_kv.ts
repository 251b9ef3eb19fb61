/**
 * A database whose operations are observed for telemetry: their verbs, and the
 * first part of their keys, which is ours.
 *
 * @module
 */
import { isCollected, telemetry } from "../telemetry/current.ts";

/** Makes an observed version of a database, if telemetry is collected. */
export function observedKv(kv: Deno.Kv): Deno.Kv {
  if (!isCollected()) return kv;
  const observed: Partial<Deno.Kv> = {
    get: (key, options) => observe("get", [key], () => kv.get(key, options)),
    getMany: (keys, options) =>
      observe("getMany", keys, () => kv.getMany(keys, options)),
    list: (selector, options) => {
      const prefix = "prefix" in selector ? selector.prefix : selector.start;
      const read = () => Array.fromAsync(kv.list(selector, options));
      return iterate(() => observe("list", [prefix], read)) as never;
    },
    atomic: () => observedAtomic(kv.atomic()),
  };
  return new Proxy(kv, {
    get(_, name) {
      const value = Reflect.get(observed, name) ?? Reflect.get(kv, name);
      return typeof value === "function" ? value.bind(kv) : value;
    },
  });
}

async function* iterate<T>(read: () => Promise<T[]>): AsyncGenerator<T> {
  yield* await read();
}

/** Makes an operation that remembers its keys until it is committed. */
function observedAtomic(atomic: Deno.AtomicOperation): Deno.AtomicOperation {
  const keys: Deno.KvKey[] = [];
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
  keys: readonly Deno.KvKey[],
  operate: () => Promise<T>,
): Promise<T> {
  if (!telemetry) return operate();
  const kind = keys[0]?.[0] as string | undefined;
  return telemetry.databaseOperation(
    { verb, kind, keys: keys.length },
    operate,
  );
}
