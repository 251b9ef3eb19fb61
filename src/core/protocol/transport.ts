/**
 * The checks of a POST before its message is parsed: of its headers, and of its
 * body's size. A few bytes of JSON can cost a thousand times as much to parse,
 * validate and complain about. So its values and levels are counted first.
 * @module
 * @see MCP 2025-11-25, Transports; RFC 9110 §8.3 and §12.5.1; RFC 8259 §9: an
 * implementation may set limits
 */
import { bodyNotArrived } from "../net/body_bytes.ts";
import { readBytes } from "../net/read_bytes.ts";
import { HttpError, RpcCode, RpcError } from "../errors.ts";
import { invalidRequest } from "./messages.ts";

/** @throws {HttpError} 415 if `Content-Type` is not JSON */
export function checkContentType(headers: Headers): void {
  const type = headers.get("content-type");
  if (type === "application/json") return;
  if (/^application\/json\s*(;|$)/i.test(type ?? "")) return;
  throw new HttpError(415, "Content-Type must be application/json", {
    seen: type ?? undefined,
  });
}

/**
 * @throws {HttpError} 406 unless the client accepts both JSON and event streams
 */
export function checkAccept(headers: Headers): void {
  const accept = headers.get("accept");
  if (accept === "application/json, text/event-stream") return;
  if (accept === null) return;
  if (
    accepts(accept, "application", "json") &&
    accepts(accept, "text", "event-stream")
  ) return;
  throw new HttpError(
    406,
    "Accept must list application/json and text/event-stream",
    { seen: accept },
  );
}

/**
 * True if an `Accept` header accepts a type. The most specific range decides,
 * and `q=0` refuses (RFC 9110 §12.5.1).
 */
function accepts(accept: string, type: string, subtype: string): boolean {
  const ranges = new Map(
    accept.split(",").map((item) => {
      const [range, ...parameters] = item.split(";");
      const isRefused = parameters.some((parameter) =>
        /^\s*q\s*=\s*0(\.0*)?\s*$/i.test(parameter)
      );
      return [range.trim().toLowerCase(), !isRefused];
    }),
  );
  return ranges.get(`${type}/${subtype}`) ?? ranges.get(`${type}/*`) ??
    ranges.get("*/*") ?? false;
}

/** The parsed JSON of a body. */
export interface MessageBody {
  value: unknown;
  /** The memory of a long message, in bytes; 0 for a short one. */
  longBytes: number;
}

/** The maximum memory of a short message, which is not counted. */
const SHORT_BYTES = 4096;

/** The memory of a value in addition to its text: 64 for an empty object. */
const BYTES_PER_VALUE = 64;

/**
 * Reads the body as JSON.
 * @param sender see {@linkcode readBytes}
 * @throws {HttpError} 413 if the body is larger than {@linkcode BODY_BYTES},
 * 400 if it ends early or has too many chunks
 * @throws {RpcError} on HTTP 400: -32700 if the body is not JSON, or is long
 * and not UTF-8; -32600 if it has too many values or levels
 */
export async function readBody(
  request: Request,
  sender?: () => string,
): Promise<MessageBody> {
  const { headers } = request;
  // A body that is too short for too many levels, by its `Content-Length`, is
  // parsed at once, which is quicker: contributing/decisions/21-short-bodies.md
  // says which bodies that accepts. `Content-Length` is ignored if there is
  // `Transfer-Encoding` (RFC 9112 §6.3).
  const length = headers.get("content-length") ?? Infinity;
  if (Number(length) < MIN_DEEP_BYTES && !headers.has("transfer-encoding")) {
    try {
      return { value: await request.json(), longBytes: 0 };
    } catch (cause) {
      throw cause instanceof SyntaxError
        ? notJson(cause)
        : bodyNotArrived(cause);
    }
  }
  const bytes = await readBytes(request, BODY_BYTES, sender);
  const checking = checkBodyLimits(bytes);
  let step = checking.next();
  for (; !step.done; step = checking.next()) await othersTurn();
  const memory = bytes.length + step.value * BYTES_PER_VALUE;
  const longBytes = memory > SHORT_BYTES ? memory : 0;
  try {
    const value = JSON.parse(decode(bytes));
    // Handling the message takes time, too.
    if (bytes.length > SLICE_BYTES) await othersTurn();
    return { value, longBytes };
  } catch (cause) {
    throw notJson(cause);
  }
}

function notJson(cause: unknown): RpcError {
  return new RpcError(RpcCode.parseError, "The body must be JSON in UTF-8", {
    status: 400,
    cause,
  });
}

/** Lets other work run before a large body, which takes a while. */
function othersTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

const lenient = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/**
 * Decodes UTF-8. The lenient decoder is much faster, but replaces invalid bytes
 * with U+FFFD. So only a text with U+FFFD is also decoded strictly.
 * @throws {TypeError} for bytes that are not UTF-8
 */
function decode(bytes: Uint8Array): string {
  const text = lenient.decode(bytes);
  return text.includes("\uFFFD") ? strict.decode(bytes) : text;
}

export const BODY_BYTES = 4 * 1024 * 1024;

/**
 * The maximum number of values in one body: members of objects and items of
 * arrays.
 */
export const MAX_BODY_VALUES = 10_000;

export const MAX_BODY_DEPTH = 200;

/**
 * The minimum number of bytes for {@linkcode MAX_BODY_DEPTH} levels, which have
 * two brackets each.
 */
const MIN_DEEP_BYTES = 2 * MAX_BODY_DEPTH;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * The bytes that are checked before other requests get a turn; takes about a
 * millisecond.
 */
export const SLICE_BYTES = 256 * 1024;

/**
 * Checks the depth and the number of values of a JSON text in UTF-8, which may
 * be invalid. Yields after every slice, so that other requests can run. Returns
 * the number of values.
 * @throws {RpcError} -32600 on HTTP 400
 */
export function* checkBodyLimits(bytes: Uint8Array): Generator<void, number> {
  let values = 0;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(at + SLICE_BYTES, bytes.length);
    for (; at < end; at++) {
      const byte = bytes[at];
      if (isInString) {
        // An escaped quote does not end the string.
        if (byte === BACKSLASH) at++;
        else if (byte === QUOTE) isInString = false;
        continue;
      }
      if (byte === QUOTE) {
        isInString = true;
      } else if (byte === COMMA) {
        values++;
      } else if (byte === 0x5b || byte === 0x7b) { // [ or {
        values++;
        if (++depth > MAX_BODY_DEPTH) {
          throw invalidRequest(
            `The body must be nested at most ${MAX_BODY_DEPTH} deep`,
          );
        }
      } else if (byte === 0x5d || byte === 0x7d) { // ] or }
        depth--;
      } else {
        continue;
      }
      if (values > MAX_BODY_VALUES) {
        throw invalidRequest(
          `The body must have at most ${MAX_BODY_VALUES} values`,
        );
      }
    }
    if (at < bytes.length) yield;
  }
  return values;
}
