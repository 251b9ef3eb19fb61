/**
 * JSON-RPC messages, and the checks of a POST before its message is parsed: of
 * its headers, and of its body's size. A few bytes of JSON can cost a thousand
 * times as much to parse, validate and complain about, so its values and levels
 * are counted first.
 *
 * @see JSON-RPC 2.0; MCP 2025-11-25, Transports; RFC 9110 §8.3 and §12.5.1
 * @see RFC 8259 §9: an implementation may set limits
 * @module
 */
import { isObject, type JsonObject } from "../json.ts";
import { HttpError, RpcCode, RpcError } from "../errors.ts";
import { escaped } from "../log/log_line.ts";
import { bodyNotArrived, readBytes } from "../net/body_bytes.ts";

/**
 * The id that the client chose for a request; `1` and `"1"` are different ids.
 */
export type RequestId = string | number;

/** A message that expects a response. */
export interface RpcRequest {
  kind: "request";
  id: RequestId;
  method: string;
  params: JsonObject;
}

/** A message that expects no response. */
export interface RpcNotification {
  kind: "notification";
  method: string;
  params: JsonObject;
}

/** An error of JSON-RPC 2.0 §5.1. */
export interface RpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

/** A response to a question that this server sent. */
export interface RpcResponse {
  kind: "response";
  id: RequestId;
  result?: JsonObject;
  error?: RpcErrorObject;
}

const NONE: JsonObject = Object.freeze({});

/** The maximum length of an id or progress token, because each is sent back. */
const MAX_ID_CHARACTERS = 1024;

const ID_RULE =
  `must be a string of at most ${MAX_ID_CHARACTERS} characters or an integer`;

const METHOD_CHARACTERS = 256;

/** The maximum length of a client's text that an error repeats. */
const MAX_QUOTE_CHARACTERS = 100;

/**
 * True if a value can be a request's id: a string of at most 1,024 characters
 * or an integer, not null.
 */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string"
    ? value.length <= MAX_ID_CHARACTERS
    : Number.isSafeInteger(value);
}

/**
 * Truncates a text to a number of characters; a truncated text ends with `…`.
 */
export function shortened(text: string, characters: number): string {
  return text.length > characters
    ? `${text.slice(0, characters - 1).toWellFormed()}…`
    : text;
}

/**
 * Formats a value for an error. A string is quoted, truncated, and made
 * visible. An array or object, which may have megabytes, becomes only its type.
 */
export function quoted(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (isObject(value)) return "an object";
  return typeof value === "string"
    ? escaped(JSON.stringify(shortened(value, MAX_QUOTE_CHARACTERS)))
    : String(value);
}

/**
 * Parses a JSON value as a message.
 *
 * @throws {RpcError} -32600 on HTTP 400 if it is not a message
 */
export function parseMessage(
  value: unknown,
): RpcRequest | RpcNotification | RpcResponse {
  if (!isObject(value)) {
    throw invalidRequest(
      `A message must be a JSON object, not ${quoted(value)}`,
    );
  }
  if (value.jsonrpc !== "2.0") {
    throw invalidRequest('A message must have "jsonrpc": "2.0"');
  }
  const { method, params, id } = value;
  if (method === undefined) return parseResponse(value);
  if (typeof method !== "string" || method.length > METHOD_CHARACTERS) {
    throw invalidRequest(
      `method must be a string of at most ${METHOD_CHARACTERS} characters, ` +
        `not ${quoted(method)}`,
    );
  }
  if (value.result !== undefined || value.error !== undefined) {
    throw invalidRequest(
      "A message must have a method, or a result or error, not both",
    );
  }
  if (params !== undefined) {
    if (!isObject(params)) {
      throw invalidRequest(`params must be an object, not ${quoted(params)}`);
    }
    checkMeta(params._meta);
  }
  if (!("id" in value)) {
    return { kind: "notification", method, params: params ?? NONE };
  }
  if (!isRequestId(id)) {
    throw invalidRequest(`id ${ID_RULE}, not ${quoted(id)}`);
  }
  return { kind: "request", id, method, params: params ?? NONE };
}

function checkMeta(meta: unknown): void {
  if (meta === undefined) return;
  if (!isObject(meta)) {
    throw invalidRequest(`params._meta must be an object, not ${quoted(meta)}`);
  }
  const { progressToken } = meta;
  if (progressToken !== undefined && !isRequestId(progressToken)) {
    throw invalidRequest(
      `progressToken ${ID_RULE}, not ${quoted(progressToken)}`,
    );
  }
}

function parseResponse({ id, result, error }: JsonObject): RpcResponse {
  if (!isRequestId(id)) {
    throw invalidRequest(
      "A message must have a method, or the id that it answers",
    );
  }
  if (isObject(result) && error === undefined) {
    return { kind: "response", id, result };
  }
  if (
    isObject(error) && result === undefined && Number.isInteger(error.code) &&
    typeof error.message === "string"
  ) {
    return { kind: "response", id, error: error as unknown as RpcErrorObject };
  }
  throw invalidRequest("A response must have either a result or an error");
}

/** Makes the error -32600 on HTTP 400. */
export function invalidRequest(message: string): RpcError {
  return new RpcError(RpcCode.invalidRequest, message, { status: 400 });
}

/** Makes the error -32602, on HTTP 200 unless `status` is given. */
export function invalidParams(message: string, status = 200): RpcError {
  return new RpcError(RpcCode.invalidParams, message, { status });
}

/** Makes the error -32601. In MCP 2026-07-28 it has HTTP status 404. */
export function methodNotFound(method: string, stateless: boolean): RpcError {
  const message = `Method not found: ${quoted(method)}`;
  const status = stateless ? 404 : 200;
  return new RpcError(RpcCode.methodNotFound, message, { status });
}

/**
 * Returns the JSON-RPC code for a refusal with HTTP status 401, 403, 406, 413,
 * 415, 429 or 503. MCP 2026-07-28 reserves -32000 to -32019 for older
 * implementations.
 * @see MCP 2026-07-28, Base Protocol, Error Codes
 */
export function codeOfStatus(status: number, stateless: boolean): number {
  if (!stateless) return RpcCode.badRequest;
  return status < 500 ? RpcCode.invalidRequest : RpcCode.internalError;
}

/** Formats a result response. `result` is already JSON text. */
export function printResult(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

/**
 * Formats an error response, without an `id` if the request had no valid one.
 */
export function printError(
  id: RequestId | undefined,
  { code, message, data }: RpcErrorObject,
): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
}

export function printNotification(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

/**
 * Returns the id of a malformed message; undefined if the id is invalid, too.
 */
export function salvageId(value: unknown): RequestId | undefined {
  return isObject(value) && isRequestId(value.id) ? value.id : undefined;
}

/**
 * Returns the arguments of a call: empty if the client sent none or null.
 *
 * @throws {RpcError} -32602 if they are not an object
 */
export function argumentsOf(params: JsonObject): JsonObject {
  // Go's encoder writes null for a map that was never made.
  const args = params.arguments ?? {};
  if (!isObject(args)) {
    throw invalidParams(`arguments must be an object, not ${quoted(args)}`);
  }
  return args;
}

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

/** Lets other work run first, because a large body takes a while. */
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
