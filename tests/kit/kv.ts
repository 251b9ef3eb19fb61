/**
 * Handles on a database with operations of a test's own.
 *
 * @module
 */
import type { Kv } from "../../src/core/kv/kv.ts";

/** Adds to a handle the shortcuts of Deno KV that tests use. */
export function withShortcuts(kv: Kv): Deno.Kv {
  const shortcuts: Partial<Deno.Kv> = {
    async set(key, value, options) {
      const result = await kv.atomic().set(key, value, options).commit();
      return result as Deno.KvCommitResult;
    },
    async delete(key) {
      await kv.atomic().delete(key).commit();
    },
  };
  return Object.assign(kv, shortcuts) as unknown as Deno.Kv;
}

/** Makes a handle like `real`, but for some of its methods. */
export function kvWith(
  real: Deno.Kv,
  replaced: { [Name in keyof Deno.Kv]?: unknown },
): Deno.Kv {
  return new Proxy(real, {
    get(real, name) {
      const own = replaced[name as keyof Deno.Kv];
      if (own) return own;
      const member = Reflect.get(real, name);
      return typeof member === "function" ? member.bind(real) : member;
    },
  });
}

/** Makes `atomic()` of a handle whose commits go through `commit`. */
export function atomicWith(
  real: Deno.Kv,
  commit: (
    commit: Deno.AtomicOperation["commit"],
  ) => ReturnType<Deno.AtomicOperation["commit"]>,
): Deno.Kv["atomic"] {
  return () => {
    const operation = real.atomic();
    const own = operation.commit.bind(operation);
    operation.commit = () => commit(own);
    return operation;
  };
}

/** Runs an operation, now or later. A read is passed with its key. */
type Run = <T>(operation: () => Promise<T>, key?: Deno.KvKey) => Promise<T>;

/** Makes a handle like `real` whose reads, lists and commits go through `run`. */
export function kvThrough(real: Deno.Kv, run: Run): Deno.Kv {
  const reading = (name: "get" | "getMany") => {
    const read = real[name].bind(real) as (
      key: unknown,
      options?: unknown,
    ) => Promise<unknown>;
    return (key: Deno.KvKey, options?: unknown) =>
      run(() => read(key, options), key);
  };
  return kvWith(real, {
    get: reading("get"),
    getMany: reading("getMany"),
    list: async function* (...args: Parameters<Deno.Kv["list"]>) {
      yield* await run(() => Array.fromAsync(real.list(...args)));
    },
    atomic: atomicWith(real, run),
  });
}
