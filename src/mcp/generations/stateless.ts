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
import { methodNotFound, type RpcRequest } from "../wire/messages.ts";
import { Meta, metaOf, parseStatelessMeta } from "../wire/request_meta.ts";
import type { Admitted, Engine } from "../exchange/engine.ts";
import type { Method } from "../exchange/run.ts";
import { STATELESS_METHODS } from "./method_table.ts";
import { StatelessCall } from "./stateless_call.ts";

/**
 * Finds the call of a request of 2026, and its method.
 *
 * @throws {import("../../errors.ts").RpcError} for a request that says too
 * little, or another thing in its headers, and for an unknown method
 */
export function findStateless(
  engine: Engine,
  message: RpcRequest,
  admitted: Admitted,
): { call: StatelessCall; method: Method } {
  const { request: { headers }, version, catalogue } = admitted;
  const { params } = message;
  const meta = metaOf(params);
  const claimed = meta[Meta.protocolVersion];
  if (typeof claimed === "string") checkVersionHeader(version, claimed);
  const parsed = parseStatelessMeta(meta);
  checkStandardHeaders(headers, message);
  const method = STATELESS_METHODS.get(message.method);
  if (!method) throw methodNotFound(message.method, true);
  const call = new StatelessCall(engine, message, admitted, parsed);
  if (message.method === "tools/call") {
    const tool = catalogue.tools.get(params.name as string);
    if (tool && tool.paramHeaders.length > 0) {
      checkParamHeaders(headers, tool.paramHeaders, argumentsOf(params));
    }
  }
  return { call, method: call.resuming(method) };
}
