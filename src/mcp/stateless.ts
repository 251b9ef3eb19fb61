/**
 * Requests of the 2026 generation: everything a request needs is in it.
 *
 * @module
 * @see MCP 2026-07-28, Streamable HTTP
 */
import { emptyResponse } from "./answer.ts";
import { argumentsOf, type MaybePromise } from "./call.ts";
import {
  checkParamHeaders,
  checkStandardHeaders,
  checkVersionHeader,
} from "./headers.ts";
import { listen } from "./listen.ts";
import type { JsonObject, RpcNotification, RpcRequest } from "./messages.ts";
import { checkScopes, methodNotFound, STATELESS_METHODS } from "./methods.ts";
import { Meta, metaOf, parseStatelessMeta } from "./request_meta.ts";
import { STATELESS_REVISION } from "./revisions.ts";
import type { Passed, Services } from "./services.ts";
import { StatelessExchange } from "./stateless_exchange.ts";

/**
 * Serves a message of 2026.
 *
 * @throws {import("../errors.ts").RpcError} for a request that never reaches
 * its method
 */
export function serveStateless(
  services: Services,
  message: RpcRequest | RpcNotification,
  { request, headers, version, authenticated }: Passed,
): MaybePromise<Response> {
  const { catalogue } = services;
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
  if (method === "tools/call") checkParams(services, headers, params);
  const exchange = new StatelessExchange({
    services,
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
  { catalogue }: Services,
  headers: Headers,
  params: JsonObject,
): void {
  const tool = catalogue.tools.get(params.name as string);
  if (tool === undefined || tool.paramHeaders.length === 0) return;
  checkParamHeaders(headers, tool.paramHeaders, argumentsOf(params));
}
