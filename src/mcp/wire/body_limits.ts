/**
 * The limits of a body, counted over its bytes before it is parsed: a few bytes
 * of JSON can cost a thousand times as much to parse, validate and complain
 * about.
 *
 * @module
 * @see RFC 8259 §9: an implementation may set limits
 */
import { invalidRequest } from "./messages.ts";

/** The largest body, in bytes. */
export const BODY_BYTES = 4 * 1024 * 1024;

/** The most values of one body: members of objects and items of arrays. */
export const BODY_VALUES = 10_000;

/** The most levels to which objects and arrays may be nested. */
export const BODY_DEPTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** Bytes that are counted in one go: about a millisecond's work. */
export const SLICE_BYTES = 256 * 1024;

/**
 * Checks the counts of a JSON text in UTF-8. Invalid JSON is counted too.
 * Pauses after every slice, so that other requests get their turn.
 *
 * @throws {import("../../errors.ts").RpcError} -32600 on HTTP 400
 */
export function* checkBodyLimits(bytes: Uint8Array): Generator<void> {
  // Too short to be too deep: most bodies are.
  if (bytes.length < 2 * BODY_DEPTH) return;
  let values = 0;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(at + SLICE_BYTES, bytes.length);
    for (; at < end; at++) {
      const byte = bytes[at];
      if (isInString) {
        // An escaped character ends nothing.
        if (byte === BACKSLASH) at++;
        else if (byte === QUOTE) isInString = false;
        continue;
      }
      if (byte === QUOTE) {
        isInString = true;
      } else if (byte === COMMA) {
        values++;
      } else if (isOpening(byte)) {
        values++;
        if (++depth > BODY_DEPTH) {
          throw invalidRequest(
            `The body must be nested at most ${BODY_DEPTH} deep`,
          );
        }
      } else if (isClosing(byte)) {
        depth--;
      } else {
        continue;
      }
      if (values > BODY_VALUES) {
        throw invalidRequest(
          `The body must have at most ${BODY_VALUES} values`,
        );
      }
    }
    if (at < bytes.length) yield;
  }
}

/** True for `[` and `{`. */
function isOpening(byte: number): boolean {
  return byte === 0x5b || byte === 0x7b;
}

/** True for `]` and `}`. */
function isClosing(byte: number): boolean {
  return byte === 0x5d || byte === 0x7d;
}
