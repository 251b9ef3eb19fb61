/**
 * JSON-RPC messages: one parser for what arrives, one formatter for what is
 * sent.
 *
 * @module
 * @see JSON-RPC 2.0; MCP 2025-11-25, Base Protocol, Messages
 */
import { isObject, type JsonObject } from "../json.ts";
import { RpcCode, RpcError } from "../errors.ts";
import { visible } from "../log/log_line.ts";

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
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (isObject(value)) return "an object";
  return typeof value === "string"
    ? visible(JSON.stringify(shortened(value, MAX_QUOTE_CHARACTERS)))
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
      `A message must be a JSON object, not ${shown(value)}`,
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
        `not ${shown(method)}`,
    );
  }
  if (value.result !== undefined || value.error !== undefined) {
    throw invalidRequest(
      "A message must have a method, or a result or error, not both",
    );
  }
  if (params !== undefined) {
    if (!isObject(params)) {
      throw invalidRequest(`params must be an object, not ${shown(params)}`);
    }
    checkMeta(params._meta);
  }
  if (!("id" in value)) {
    return { kind: "notification", method, params: params ?? NONE };
  }
  if (!isRequestId(id)) throw invalidRequest(`id ${ID_RULE}, not ${shown(id)}`);
  return { kind: "request", id, method, params: params ?? NONE };
}

function checkMeta(meta: unknown): void {
  if (meta === undefined) return;
  if (!isObject(meta)) {
    throw invalidRequest(`params._meta must be an object, not ${shown(meta)}`);
  }
  const { progressToken } = meta;
  if (progressToken !== undefined && !isRequestId(progressToken)) {
    throw invalidRequest(
      `progressToken ${ID_RULE}, not ${shown(progressToken)}`,
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
  const message = `Method not found: ${shown(method)}`;
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
    throw invalidParams(`arguments must be an object, not ${shown(args)}`);
  }
  return args;
}
