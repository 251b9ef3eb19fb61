/**
 * Requests of the 2026 generation: everything a request needs is in it.
 *
 * @module
 * @see MCP 2026-07-28, Streamable HTTP
 */
import { emptyResponse } from "./pending_response.ts";
import { argumentsOf, type MaybePromise } from "./call.ts";
import {
  checkParamHeaders,
  checkStandardHeaders,
  checkVersionHeader,
} from "../protocol/headers.ts";
import { listen } from "./methods/subscription.ts";
import type { JsonObject } from "../json.ts";
import type { RpcNotification, RpcRequest } from "../protocol/messages.ts";
import {
  checkScopes,
  methodNotFound,
  STATELESS_METHODS,
} from "./methods/table.ts";
import { Meta, metaOf, parseStatelessMeta } from "../protocol/request_meta.ts";
import { STATELESS_REVISION } from "../protocol/revisions.ts";
import type { Engine, Passed } from "./engine.ts";
import { StatelessExchange } from "./stateless_exchange.ts";

/**
 * Serves a message of 2026.
 *
 * @throws {import("../errors.ts").RpcError} for a request that never reaches
 * its method
 */
export function serveStateless(
  engine: Engine,
  message: RpcRequest | RpcNotification,
  { request, headers, version, authenticated }: Passed,
): MaybePromise<Response> {
  const { catalogue } = engine;
  // 2026 has no notifications over HTTP; a client's own hurt nobody.
  if (message.kind === "notification") return emptyResponse(202);
  const { method, params } = message;
  const meta = metaOf(params);
  const claimed = meta[Meta.protocolVersion];
  if (typeof claimed === "string") checkVersionHeader(version, claimed);
  const { clientInfo, clientCapabilities, logLevel } = parseStatelessMeta(
    meta,
  );
  checkStandardHeaders(headers, message);
  const run = STATELESS_METHODS.get(method);
  const isListen = method === "subscriptions/listen";
  if (!run && !isListen) throw methodNotFound(method, true);
  checkScopes(catalogue, message, authenticated.caller);
  if (method === "tools/call") checkParams(engine, headers, params);
  const exchange = new StatelessExchange({
    engine,
    message,
    authenticated,
    client: {
      info: clientInfo,
      capabilities: clientCapabilities,
      revision: STATELESS_REVISION,
    },
    logLevel,
    introduction: catalogue.stateless,
  });
  const response = exchange.run(run ?? (() => listen(exchange)));
  if (response instanceof Promise) exchange.watch(request.signal);
  return response;
}

function checkParams(
  { catalogue }: Engine,
  headers: Headers,
  params: JsonObject,
): void {
  const tool = catalogue.tools.get(params.name as string);
  if (tool === undefined || tool.paramHeaders.length === 0) return;
  checkParamHeaders(headers, tool.paramHeaders, argumentsOf(params));
}
