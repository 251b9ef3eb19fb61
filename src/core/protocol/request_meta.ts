/**
 * The `_meta` of a request: the members that MCP 2026-07-28 requires, and those
 * that all revisions share.
 * @module
 * @see MCP 2026-07-28, Base Protocol, `_meta`
 */
import type {
  Implementation,
  LoggingLevel,
} from "@modelcontextprotocol/server";
import { RpcCode, RpcError } from "../errors.ts";
import {
  invalidParams,
  isRequestId,
  type RequestId,
  shortened,
  shown,
} from "./messages.ts";
import { isObject, type JsonObject } from "../json.ts";
import { REVISIONS, STATELESS_REVISION } from "./revisions.ts";

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

export function levels(): string {
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
        shown(version),
    );
  }
  if (version !== STATELESS_REVISION) {
    throw new RpcError(
      RpcCode.unsupportedVersion,
      `Unsupported protocol version: ${shown(version)}. Use one of ` +
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
        shown(clientCapabilities),
    );
  }
  const clientInfo = meta[Meta.clientInfo];
  if (clientInfo !== undefined && !isImplementation(clientInfo)) {
    throw malformed(`${Meta.clientInfo} must have a name and a version`);
  }
  const logLevel = meta[Meta.logLevel];
  if (logLevel !== undefined && !isLoggingLevel(logLevel)) {
    throw malformed(
      `${Meta.logLevel} must be ${levels()}, not ${shown(logLevel)}`,
    );
  }
  return { clientInfo, clientCapabilities, logLevel };
}
