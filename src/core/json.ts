/**
 * JSON values.
 *
 * @module
 */

export type JsonObject = Record<string, unknown>;

/** True if a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True if a value is an object that is no instance of a class. */
export function isPlainObject(value: unknown): value is JsonObject {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Returns the value at a path of own members; undefined if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/**
 * Formats a value as JSON text that does not depend on the order of members.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_, member) =>
      isObject(member)
        ? Object.fromEntries(
          Object.entries(member).sort(([a], [b]) => a < b ? -1 : 1),
        )
        : member,
  );
}
