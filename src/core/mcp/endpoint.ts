/**
 * `/mcp`: one endpoint for MCP 2025, with sessions, and MCP 2026-07-28,
 * without. The body of a POST decides which; the headers must agree. A call is
 * admitted, parsed, found, checked, run, settled and encoded.
 * @module
 * @see MCP 2025-11-25, Transports; MCP 2026-07-28, Streamable HTTP
 */
import type { ConnectionInfo } from "../http/client_address.ts";
import { telemetry } from "../telemetry/current.ts";
import { admit, readMessage } from "./exchange/check.ts";
import { emptyResponse, jsonResponse } from "./exchange/answer.ts";
import type { AdmittedRequest } from "./exchange/engine.ts";
import { type Incoming, refuseRequest, respond } from "./exchange/run.ts";
import { serveBatch } from "./generations/batch.ts";
import {
  findInSession,
  findStateless,
  type McpEngine,
} from "./generations/find.ts";
import { observeMessage } from "./generations/observed.ts";
import {
  endSession,
  findSession,
  findSessionOnce,
  initialize,
  takeNotification,
  takeResponse,
} from "./generations/session.ts";
import {
  checkAccept,
  checkContentType,
  parseMessage,
  type RpcNotification,
  type RpcRequest,
  salvageId,
} from "../protocol/messages.ts";
import { Meta, metaOf } from "../protocol/request_meta.ts";
import {
  isSessionRevision,
  STATELESS_REVISION,
} from "../protocol/revisions.ts";

/**
 * The handlers of `POST /mcp` and `DELETE /mcp`; other methods are not allowed.
 */
export interface McpEndpoint {
  /** @param info the network connection of the request, if it is known */
  post(request: Request, info?: ConnectionInfo): Promise<Response>;
  delete(request: Request, info?: ConnectionInfo): Promise<Response>;
}

/**
 * Makes the handlers of `/mcp`. They never reject: an error becomes a response.
 */
export function mcpEndpoint(engine: McpEngine): McpEndpoint {
  return {
    post: (request, info) => post(engine, { request, info }),
    delete: (request, info) => end(engine, { request, info }),
  };
}

/** Admits a POST, parses its message and serves it. */
async function post(
  engine: McpEngine,
  incoming: Incoming,
): Promise<Response> {
  try {
    const admitting = admit(engine, incoming);
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    const { headers } = incoming.request;
    checkContentType(headers);
    checkAccept(headers);
    const { value, longBytes } = await readMessage(engine, admitted);
    admitted.messageBytes = longBytes;
    if (Array.isArray(value)) return await serveBatch(engine, value, admitted);
    incoming.id = salvageId(value);
    const message = parseMessage(value);
    if (message.kind === "response") {
      return await takeResponse(engine, message, admitted);
    }
    if (!telemetry) {
      const answer = serve(engine, message, admitted);
      return answer instanceof Promise ? await answer : answer;
    }
    return await observeMessage(
      telemetry,
      engine.methods,
      message,
      admitted,
      incoming,
      (admitted) => serve(engine, message, admitted),
    );
  } catch (error) {
    return jsonResponse(refuseRequest(engine, error, incoming));
  }
}

/** Ends the session that a DELETE names. */
async function end(
  engine: McpEngine,
  incoming: Incoming,
): Promise<Response> {
  try {
    return await endSession(engine, await admit(engine, incoming));
  } catch (error) {
    return jsonResponse(refuseRequest(engine, error, incoming));
  }
}

/**
 * Serves a message by the rules of its revision: finds its call and method, and
 * passes both to `respond`.
 */
function serve(
  engine: McpEngine,
  message: RpcRequest | RpcNotification,
  admitted: AdmittedRequest,
): Response | Promise<Response> {
  if (!isStateless(message, admitted)) {
    return serveInSession(engine, message, admitted);
  }
  // Accepted and ignored: in MCP 2026-07-28, clients send no notifications over
  // HTTP.
  if (message.kind === "notification") return emptyResponse(202);
  const { call, method } = findStateless(engine, message, admitted);
  return respond(call, method);
}

async function serveInSession(
  engine: McpEngine,
  message: RpcRequest | RpcNotification,
  admitted: AdmittedRequest,
): Promise<Response> {
  if (message.kind === "notification") {
    const found = await findSessionOnce(engine, admitted);
    await takeNotification(engine, message, found);
    return emptyResponse(202);
  }
  if (message.method === "initialize") {
    return await initialize(engine, message, admitted);
  }
  const found = await findSession(engine, admitted);
  const { call, method } = findInSession(engine, message, found);
  return respond(call, method);
}

/**
 * True for MCP 2026-07-28: the header or `_meta` names it, or `_meta` names an
 * unknown revision. `initialize` without a revision in `_meta` belongs to MCP
 * 2025.
 */
function isStateless(
  { method, params }: RpcRequest | RpcNotification,
  { version }: AdmittedRequest,
): boolean {
  const claimed = metaOf(params)[Meta.protocolVersion];
  return claimed === undefined
    ? version === STATELESS_REVISION && method !== "initialize"
    : version === STATELESS_REVISION || !isSessionRevision(claimed);
}
