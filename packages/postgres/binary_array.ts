/**
 * Arrays in the binary format of Postgres. Unlike the text format, it needs no
 * escapes or parsing, and is half as long.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** The OIDs of element types. */
const TYPES = { bool: 16, bytea: 17, int8: 20, text: 25 } as const;

/**
 * The bytes before the elements: the dimensions, the null flag, the type, the
 * length and the first index.
 */
const HEAD_BYTES = 20;
const LENGTH_BYTES = 4;
/** The length of a null. */
const NULL = -1;

/** Packs an array of packed elements. */
export function binaryArray(
  type: keyof typeof TYPES,
  elements: readonly (Uint8Array | null)[],
): Buffer {
  const size = elements.reduce(
    (sum, element) => sum + LENGTH_BYTES + (element?.length ?? 0),
    HEAD_BYTES,
  );
  const packed = Buffer.alloc(size);
  packed.writeInt32BE(elements.length === 0 ? 0 : 1, 0);
  packed.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  packed.writeInt32BE(TYPES[type], 8);
  if (elements.length === 0) return packed.subarray(0, 12);
  packed.writeInt32BE(elements.length, 12);
  packed.writeInt32BE(1, 16);
  let place = HEAD_BYTES;
  for (const element of elements) {
    packed.writeInt32BE(element?.length ?? NULL, place);
    place += LENGTH_BYTES;
    if (!element) continue;
    packed.set(element, place);
    place += element.length;
  }
  return packed;
}

export function int8(value: bigint): Buffer {
  const packed = Buffer.alloc(8);
  packed.writeBigInt64BE(value);
  return packed;
}

const FALSE = Buffer.of(0);
const TRUE = Buffer.of(1);

export function bool(value: boolean): Buffer {
  return value ? TRUE : FALSE;
}
