/**
 * A database that can be switched off.
 *
 * @module
 */

/** Makes a handle like `kv`; while it is off, every operation fails. */
export function switchable(kv: Deno.Kv, isUp = true) {
  const place = { kv, isUp };
  place.kv = new Proxy(kv, {
    get(kv, name) {
      if (!place.isUp && name !== "close") {
        return () => {
          throw new Error("no database");
        };
      }
      const member = Reflect.get(kv, name);
      return typeof member === "function" ? member.bind(kv) : member;
    },
  });
  return place;
}

/** Makes a {@linkcode switchable} database in memory. */
export async function switchableKv() {
  const memory = await Deno.openKv(":memory:");
  const state = switchable(memory);
  return { state, kv: state.kv, [Symbol.dispose]: () => memory.close() };
}
