/**
 * Keys of the database in memory. Each is one string, and the strings have Deno
 * KV's order (bytes, then strings, then numbers, then booleans).
 * @module
 * @see https://docs.deno.com/deploy/kv/key_space/
 */
import type { KvKey, KvSelector } from "./kv.ts";
import { KvUsageError } from "./kv_error.ts";

const MAX_KEY_BYTES = 2048;
const encoder = new TextEncoder();

/**
 * Packs a key into one string with a character for each byte. The string of a
 * key begins with the strings of its prefixes.
 * @throws {KvUsageError} for a key that is too long, or has a bigint, which the
 * stores do not use
 */
export function packKey(key: KvKey): string {
  const packed = key.map(packPart).join("");
  if (packed.length <= MAX_KEY_BYTES) return packed;
  throw new KvUsageError(
    `Key too large for write (max ${MAX_KEY_BYTES} bytes)`,
  );
}

/** A range of packed keys. */
interface Selection {
  /** The lower bound; no selected key is before it. */
  start: string;
  /** True for keys before the end of the selection. */
  isBefore(name: string): boolean;
  /** True if a key between start and end is selected. */
  isIn(name: string): boolean;
}

export function selectionOf(selector: KvSelector): Selection {
  if ("start" in selector) {
    const [start, end] = [packKey(selector.start), packKey(selector.end)];
    return { start, isBefore: (name) => name < end, isIn: () => true };
  }
  const start = packKey(selector.prefix);
  return {
    start,
    isBefore: (name) => name.startsWith(start),
    // A 0xff here continues an escaped zero, so this part of the key is longer
    // than the prefix's last part.
    isIn: (name) => name !== start && name[start.length] !== "\xff",
  };
}

function packPart(part: KvKey[number]): string {
  if (part instanceof Uint8Array) return `\x01${escape(part)}\x00`;
  switch (typeof part) {
    case "string":
      return `\x02${escape(encoder.encode(part))}\x00`;
    case "number":
      return `\x21${packNumber(part)}`;
    case "boolean":
      return part ? "\x27" : "\x26";
    default:
      throw new KvUsageError(`A ${typeof part} cannot be part of a key`);
  }
}

/** Adds a 0xff after each zero, because a zero alone ends a part. */
function escape(bytes: Uint8Array): string {
  return binary(bytes).replaceAll("\x00", "\x00\xff");
}

/**
 * Packs a number as IEEE 754, with bits flipped so that the strings have the
 * order of the numbers.
 */
function packNumber(number: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  const bits = view.getBigUint64(0);
  view.setBigUint64(0, bits >> 63n ? ~bits : bits | 1n << 63n);
  return binary(new Uint8Array(view.buffer));
}

function binary(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
