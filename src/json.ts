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
