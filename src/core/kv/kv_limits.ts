/**
 * The limits in the database's contract, for this project's implementations.
 * @module
 */
import { serialize } from "node:v8";
import { kvErrorOf, KvUsageError } from "./kv_error.ts";

const MAX_VALUE_BYTES = 65_536;
const MAX_KEYS = 10;
const MAX_CHECKS = 10;
const MAX_MUTATIONS = 1000;

/** @throws {KvUsageError} for more keys than one read may have */
export function checkKeys(keys: readonly unknown[]): void {
  checkCount(keys, MAX_KEYS, "keys");
}

/** @throws {KvUsageError} for more checks or writes than a commit may have */
export function checkCommitSize(
  checks: readonly unknown[],
  mutations: readonly unknown[],
): void {
  checkCount(checks, MAX_CHECKS, "checks");
  checkCount(mutations, MAX_MUTATIONS, "mutations");
}

/**
 * @throws {KvUsageError} for a value that is too large, or a negative
 * `expireIn`
 */
export function checkWrite(bytes: Uint8Array, expireIn = Infinity): void {
  if (bytes.byteLength > MAX_VALUE_BYTES) {
    throw new KvUsageError(`Value too large (max ${MAX_VALUE_BYTES} bytes)`);
  }
  if (!(expireIn >= 0)) {
    throw new KvUsageError("expireIn must be a non-negative number");
  }
}

/**
 * @throws {KvUsageError} for a value that cannot be cloned, such as a function
 */
export function cloneBytes(value: unknown): Uint8Array {
  try {
    return serialize(value);
  } catch (error) {
    throw kvErrorOf(error);
  }
}

function checkCount(
  items: readonly unknown[],
  most: number,
  what: string,
): void {
  if (items.length > most) {
    throw new KvUsageError(`Too many ${what} (max ${most})`);
  }
}
