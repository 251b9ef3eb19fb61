/**
 * Keys as bytes, which have the same order as the keys.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { KvKey, KvSelector } from "../../src/core/kv/kv.ts";
import { packKey } from "../../src/core/kv/memory_key.ts";

/** @throws {import("../../src/core/kv/kv_error.ts").KvUsageError} */
export function packBytes(key: KvKey): Buffer {
  return Buffer.from(packKey(key), "latin1");
}

/** Returns the range of the packed keys that a selector selects. */
export function packRange(
  selector: KvSelector,
): { start: Buffer; end: Buffer } {
  if ("start" in selector) {
    return { start: packBytes(selector.start), end: packBytes(selector.end) };
  }
  // No part of a key begins with 0, or with 0xff, which continues an escaped
  // zero.
  const prefix = packBytes(selector.prefix);
  return {
    start: Buffer.concat([prefix, Buffer.of(0)]),
    end: Buffer.concat([prefix, Buffer.of(0xff)]),
  };
}

export function unpackKey(packed: Buffer): KvKey {
  const parts: KvKey[number][] = [];
  for (let at = 0; at < packed.length;) {
    const type = packed[at++];
    switch (type) {
      case 0x01:
      case 0x02: {
        const bytes: number[] = [];
        for (; packed[at] !== 0 || packed[at + 1] === 0xff; at++) {
          bytes.push(packed[at]);
          if (packed[at] === 0) at++;
        }
        at++;
        const part = Uint8Array.from(bytes);
        parts.push(type === 0x01 ? part : decoder.decode(part));
        break;
      }
      case 0x21:
        parts.push(unpackNumber(packed.readBigUInt64BE(at)));
        at += 8;
        break;
      default:
        parts.push(type === 0x27);
    }
  }
  return parts;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function unpackNumber(bits: bigint): number {
  const view = new DataView(new ArrayBuffer(8));
  const sign = 1n << 63n;
  view.setBigUint64(0, bits & sign ? bits ^ sign : BigInt.asUintN(64, ~bits));
  return view.getFloat64(0);
}
