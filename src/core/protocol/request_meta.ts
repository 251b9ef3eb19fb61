/**
 * The `_meta` of a request, and the headers that repeat parts of an MCP
 * 2026-07-28 request's body, so that intermediaries can route the request
 * without parsing the body. Headers and body must agree.
 *
 * @see MCP 2026-07-28, Base Protocol, `_meta`; Streamable HTTP, Request
 *   Metadata
 * @module
 */
import type {
  Implementation,
  LoggingLevel,
} from "@modelcontextprotocol/server";
import { RpcCode, RpcError } from "../errors.ts";
import {
  invalidParams,
  isRequestId,
  quoted,
  type RequestId,
  type RpcRequest,
  shortened,
} from "./messages.ts";
import { isObject, type JsonObject, valueAt } from "../json.ts";
import { REVISIONS, STATELESS_REVISION } from "./revisions.ts";
import { fromBase64 } from "../crypto/crypto.ts";

const PREFIX = "io.modelcontextprotocol/";

/** `_meta` keys that the protocol reserves. */
export const Meta = {
  protocolVersion: `${PREFIX}protocolVersion`,
  clientInfo: `${PREFIX}clientInfo`,
  clientCapabilities: `${PREFIX}clientCapabilities`,
  logLevel: `${PREFIX}logLevel`,
  serverInfo: `${PREFIX}serverInfo`,
  subscriptionId: `${PREFIX}subscriptionId`,
} as const;

/**
 * Severities of `notifications/message`, from least to most severe (RFC 5424
 * §6.2.1).
 */
export const LOGGING_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const satisfies readonly LoggingLevel[];

export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return LOGGING_LEVELS.includes(value as LoggingLevel);
}

export function levelWords(): string {
  return `one of ${LOGGING_LEVELS.join(", ")}`;
}

/** The maximum length of a version that an error repeats. */
const MAX_VERSION_CHARACTERS = 100;

const EMPTY: JsonObject = Object.freeze({});

export function metaOf(params: JsonObject): JsonObject {
  return isObject(params._meta) ? params._meta : EMPTY;
}

/** Returns the progress token; undefined if the client wants no progress. */
export function progressTokenOf(meta: JsonObject): RequestId | undefined {
  return isRequestId(meta.progressToken) ? meta.progressToken : undefined;
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/**
 * Returns the trace id of a request for the log; undefined without a valid
 * `traceparent`.
 * @see W3C Trace Context §3.2; MCP 2026-07-28, OpenTelemetry trace context
 */
export function traceIdOf({ traceparent }: JsonObject): string | undefined {
  return typeof traceparent === "string"
    ? TRACEPARENT.exec(traceparent)?.[1]
    : undefined;
}

/**
 * True for the name and version of a client, which have the same form in all
 * revisions.
 */
export function isImplementation(value: unknown): value is Implementation {
  return isObject(value) && typeof value.name === "string" &&
    typeof value.version === "string";
}

/** The parsed `_meta` of an MCP 2026-07-28 request. */
export interface StatelessMeta {
  clientInfo?: Implementation;
  clientCapabilities: JsonObject;
  logLevel?: LoggingLevel;
}

const malformed = (message: string) => invalidParams(message, 400);

/**
 * Checks the members that every MCP 2026-07-28 request must have.
 * @throws {RpcError} on HTTP 400: -32602 if one is missing or malformed, -32022
 * if the revision is not supported
 */
export function parseStatelessMeta(meta: JsonObject): StatelessMeta {
  const version = meta[Meta.protocolVersion];
  if (typeof version !== "string") {
    throw malformed(
      `_meta must have ${Meta.protocolVersion} as a string, not ` +
        quoted(version),
    );
  }
  if (version !== STATELESS_REVISION) {
    throw new RpcError(
      RpcCode.unsupportedVersion,
      `Unsupported protocol version: ${quoted(version)}. Use one of ` +
        REVISIONS.join(", "),
      {
        status: 400,
        data: {
          supported: REVISIONS,
          requested: shortened(version, MAX_VERSION_CHARACTERS),
        },
      },
    );
  }
  const clientCapabilities = meta[Meta.clientCapabilities];
  if (!isObject(clientCapabilities)) {
    throw malformed(
      `_meta must have ${Meta.clientCapabilities} as an object, not ` +
        quoted(clientCapabilities),
    );
  }
  const clientInfo = meta[Meta.clientInfo];
  if (clientInfo !== undefined && !isImplementation(clientInfo)) {
    throw malformed(`${Meta.clientInfo} must have a name and a version`);
  }
  const logLevel = meta[Meta.logLevel];
  if (logLevel !== undefined && !isLoggingLevel(logLevel)) {
    throw malformed(
      `${Meta.logLevel} must be ${levelWords()}, not ${quoted(logLevel)}`,
    );
  }
  return { clientInfo, clientCapabilities, logLevel };
}

/** The parameter that the header `Mcp-Name` repeats, keyed by method. */
const NAME_SOURCE: Readonly<Record<string, string>> = {
  __proto__: null as never,
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/**
 * Checks `Mcp-Method` and `Mcp-Name` against the message.
 *
 * @throws {RpcError} -32020 on HTTP 400
 */
export function checkStandardHeaders(
  headers: Headers,
  { method, params }: RpcRequest,
): void {
  checkHeader("mcp-method", headers.get("mcp-method"), method);
  const source = NAME_SOURCE[method];
  if (source === undefined) return;
  const name = params[source];
  // A body without a name is refused later, with a clearer message.
  if (typeof name !== "string") return;
  const value = headers.get("mcp-name");
  if (value === null) {
    throw mismatch(`Mcp-Name is missing: params.${source} is ${quoted(name)}`);
  }
  const decoded = decodeHeaderValue(value, "Mcp-Name");
  if (decoded !== name) {
    throw mismatch(
      `Mcp-Name does not match params.${source}: the header has ` +
        `${quoted(decoded)}, the body ${quoted(name)}`,
    );
  }
}

/**
 * Checks one header against the value in the body. `MCP-Protocol-Version` is
 * checked before the revision itself, so that a mismatch is reported rather
 * than an unsupported revision.
 *
 * @throws {RpcError} -32020 on HTTP 400
 */
export function checkHeader(
  name: string,
  value: string | null,
  expected: string,
): void {
  if (value === expected) return;
  throw mismatch(
    value === null
      ? `${name} is missing: the body has ${quoted(expected)}`
      : `${name} does not match the body: the header has ` +
        `${quoted(value)}, the body ${quoted(expected)}`,
  );
}

/** An argument that a tool requires in `Mcp-Param-{name}`, too. */
export interface ParamHeader {
  /** The whole header name, in lower case. */
  header: string;
  /** The path of `properties` keys that leads to the argument. */
  path: readonly string[];
}

/**
 * Checks a tool's `Mcp-Param-*` headers against its arguments. An argument that
 * is absent or null must have no header.
 *
 * @throws {RpcError} -32020 on HTTP 400
 */
export function checkParamHeaders(
  headers: Headers,
  params: readonly ParamHeader[],
  args: JsonObject,
): void {
  for (const { header, path } of params) {
    const value = valueAt(args, path);
    const found = headers.get(header);
    const argument = path.join(".");
    if (value === undefined || value === null) {
      if (found === null) continue;
      throw mismatch(
        `${header} has no argument to match: the header has ` +
          `${quoted(found)}, the body no ${argument}`,
      );
    }
    if (found === null) {
      throw mismatch(`${header} is missing: ${argument} is ${quoted(value)}`);
    }
    const decoded = decodeHeaderValue(found, header);
    if (!isSameValue(value, decoded)) {
      throw mismatch(
        `${header} does not match its argument: the header has ` +
          `${quoted(decoded)}, ${argument} is ${quoted(value)}`,
      );
    }
  }
}

function isSameValue(value: unknown, text: string): boolean {
  if (typeof value !== "number") return String(value) === text;
  return /^-?\d+(\.\d+)?$/.test(text) && Number(text) === value;
}

const SENTINEL = /^=\?base64\?(.*)\?=$/;

/** Matches base64 with padding (RFC 4648 §4), which `atob` does not require. */
const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Decodes a header value: plain visible ASCII, or the UTF-8 text inside
 * `=?base64?…?=`.
 *
 * @param name the name of the header, for the error
 * @throws {RpcError} -32020 on HTTP 400 for any other character or encoding
 */
export function decodeHeaderValue(
  value: string,
  name = "A header value",
): string {
  const encoded = SENTINEL.exec(value)?.[1];
  if (encoded === undefined) {
    if (/[^\t\x20-\x7e]/.test(value)) {
      throw mismatch(
        `${name} must be visible ASCII or =?base64?…?=${not(value)}`,
      );
    }
    return value;
  }
  if (!BASE64.test(encoded)) {
    throw mismatch(
      `${name} must be valid base64 between its marks${not(value)}`,
    );
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(fromBase64(encoded));
  } catch (cause) {
    throw mismatch(`${name} must be UTF-8 in base64${not(value)}`, cause);
  }
}

function not(seen: string): string {
  return `, not ${quoted(seen)}`;
}

function mismatch(message: string, cause?: unknown): RpcError {
  return new RpcError(RpcCode.headerMismatch, `Header mismatch: ${message}`, {
    status: 400,
    cause,
  });
}
