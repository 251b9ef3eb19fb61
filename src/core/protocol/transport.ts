/**
 * The checks of a POST before its message is parsed: its headers, and the
 * limits of its body. A few bytes of JSON can cost a thousand times as much to
 * parse, validate and complain about, so they are counted first.
 *
 * @module
 * @see MCP 2025-11-25, Transports; RFC 9110 §8.3 and §12.5.1; RFC 8259 §9: an
 * implementation may set limits
 */
import { notArrived, readBytes } from "../net/body_bytes.ts";
import { HttpError, RpcCode, RpcError } from "../errors.ts";
import { invalidRequest } from "./messages.ts";

/** @throws {HttpError} 415 unless the body is JSON */
export function checkContentType(headers: Headers): void {
  const type = headers.get("content-type");
  if (type === "application/json") return;
  if (/^application\/json\s*(;|$)/i.test(type ?? "")) return;
  throw new HttpError(415, "Content-Type must be application/json", {
    seen: type ?? undefined,
  });
}

/**
 * @throws {HttpError} 406 unless the client takes both JSON and event streams,
 * or does not say
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
 * True if an `Accept` header allows a type. The most specific range decides,
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

/** A body, as JSON. */
export interface MessageBody {
  value: unknown;
  /** The memory that a long one takes, in bytes; 0 for others. */
  longBytes: number;
}

/** The memory up to which a message is not counted as long, in bytes. */
const SHORT_BYTES = 4096;

/** The memory of a value besides its text: 64 bytes for an empty object. */
const BYTES_PER_VALUE = 64;

/**
 * Reads the body as JSON.
 *
 * @param sender as {@linkcode readBytes} says
 * @throws {HttpError} 413 when it is larger than {@linkcode BODY_BYTES}, 400
 * when it ends early or comes in too many chunks
 * @throws {RpcError} on HTTP 400: -32700 when it is not JSON, or is long and not
 * UTF-8; -32600 when it is beyond the limits
 */
export async function readBody(
  request: Request,
  sender?: string,
): Promise<MessageBody> {
  const { headers } = request;
  // A body whose announced length is too short for too many levels is read as
  // JSON at once, which is quicker: contributing/decisions/21-short-bodies.md
  // says which bodies that accepts. A length next to Transfer-Encoding says
  // nothing (RFC 9112 §6.3).
  const length = headers.get("content-length") ?? Infinity;
  if (Number(length) < MIN_DEEP_BYTES && !headers.has("transfer-encoding")) {
    try {
      return { value: await request.json(), longBytes: 0 };
    } catch (cause) {
      throw cause instanceof SyntaxError ? notJson(cause) : notArrived(cause);
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
    // Handling the message takes time too.
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

/** Yields to other work first, because a large body takes a while. */
function othersTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

const lenient = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/**
 * Decodes bytes as UTF-8. The lenient decoder is much faster, and writes U+FFFD
 * for invalid bytes: only if there is one, the strict decoder is used.
 *
 * @throws {TypeError} for bytes that are not UTF-8
 */
function decode(bytes: Uint8Array): string {
  const text = lenient.decode(bytes);
  return text.includes("\uFFFD") ? strict.decode(bytes) : text;
}

export const BODY_BYTES = 4 * 1024 * 1024;

/** The most values of one body: members of objects and items of arrays. */
export const MAX_BODY_VALUES = 10_000;

/** The most levels to which objects and arrays may be nested. */
export const MAX_BODY_DEPTH = 200;

/** The bytes of {@linkcode MAX_BODY_DEPTH} levels: two brackets each. */
const MIN_DEEP_BYTES = 2 * MAX_BODY_DEPTH;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** Bytes that are counted in one go: about a millisecond's work. */
export const SLICE_BYTES = 256 * 1024;

/**
 * Checks the depth and the number of values of a JSON text in UTF-8, before it
 * is known to be valid. Yields after every slice, so that other requests get
 * their turn. Returns the number of values.
 *
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
        // An escaped character ends nothing.
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
