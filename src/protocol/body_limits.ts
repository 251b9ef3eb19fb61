/**
 * What a body may hold, counted over its bytes before anything is built of
 * them: a few bytes of JSON can cost a thousand times as much to parse,
 * validate and complain about.
 *
 * @module
 * @see RFC 8259 §9: an implementation may set limits
 */
import { invalidRequest } from "./messages.ts";

/** The largest body, in bytes. */
export const BODY_BYTES = 4 * 1024 * 1024;

/** The most values of one body: members of objects and items of arrays. */
export const BODY_VALUES = 10_000;

/** How deep objects and arrays may be nested. */
export const BODY_DEPTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * Checks the counts of a JSON text in UTF-8. A text that is no JSON is counted
 * as far as it goes.
 *
 * @throws {import("../errors.ts").RpcError} -32600 on HTTP 400
 */
export function checkBodyLimits(bytes: Uint8Array): void {
  // Too short to be too deep: most bodies are.
  if (bytes.length < 2 * BODY_DEPTH) return;
  let values = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
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
      throw invalidRequest(`The body must have at most ${BODY_VALUES} values`);
    }
  }
}

/** `[` and `{` */
function isOpening(byte: number): boolean {
  return byte === 0x5b || byte === 0x7b;
}

/** `]` and `}` */
function isClosing(byte: number): boolean {
  return byte === 0x5d || byte === 0x7d;
}

/** Where the string ends that begins at a quote. */
function endOfString(bytes: Uint8Array, start: number): number {
  let end = start;
  for (;;) {
    end = bytes.indexOf(QUOTE, end + 1);
    if (end < 0) return bytes.length;
    let backslashes = 0;
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}
