/**
 * A database that can be switched off.
 *
 * @module
 */

/** Makes a database in memory; while it is off, every operation fails. */
export async function switchableKv() {
  const memory = await Deno.openKv(":memory:");
  const state = { isUp: true };
  const kv = new Proxy(memory, {
    get(target, name) {
      if (!state.isUp && name !== "close") {
        return () => {
          throw new Error("no database");
        };
      }
      const member = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { state, kv, [Symbol.dispose]: () => memory.close() };
}
