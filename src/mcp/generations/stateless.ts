/**
 * Requests of the 2026 generation: each carries everything it needs.
 *
 * @module
 * @see MCP 2026-07-28, Streamable HTTP
 */
import { argumentsOf } from "../wire/arguments.ts";
import {
  checkParamHeaders,
  checkStandardHeaders,
  checkVersionHeader,
} from "../wire/headers.ts";
import {
  methodNotFound,
  type RpcNotification,
  type RpcRequest,
} from "../wire/messages.ts";
import { Meta, metaOf, parseStatelessMeta } from "../wire/request_meta.ts";
import type { Admitted, Engine } from "../exchange/engine.ts";
import { permitted, STATELESS_METHODS } from "./method_table.ts";
import { emptyResponse } from "../exchange/response.ts";
import { StatelessCall } from "./stateless_call.ts";
import type { MaybePromise } from "../exchange/then.ts";

/**
 * Serves a message of 2026.
 *
 * @throws {import("../../errors.ts").RpcError} for a request that never reaches
 * its method
 */
export function serveStateless(
  engine: Engine,
  message: RpcRequest | RpcNotification,
  admitted: Admitted,
): MaybePromise<Response> {
  const { request: { headers }, version, catalogue } = admitted;
  // 2026 has no notifications over HTTP; a client's own do no harm.
  if (message.kind === "notification") return emptyResponse(202);
  const { method, params } = message;
  const meta = metaOf(params);
  const claimed = meta[Meta.protocolVersion];
  if (typeof claimed === "string") checkVersionHeader(version, claimed);
  const parsed = parseStatelessMeta(meta);
  checkStandardHeaders(headers, message);
  const found = STATELESS_METHODS.get(method);
  if (!found) throw methodNotFound(method, true);
  const run = permitted(found, message, admitted, engine);
  if (method === "tools/call") {
    const tool = catalogue.tools.get(params.name as string);
    if (tool && tool.paramHeaders.length > 0) {
      checkParamHeaders(headers, tool.paramHeaders, argumentsOf(params));
    }
  }
  return new StatelessCall(engine, message, admitted, parsed).respond(run);
}
